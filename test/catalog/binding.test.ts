import { describe, expect, it } from 'vitest';
import { bindingOf } from '../../src/catalog/binding.ts';
import { parseDefinition } from '../../src/catalog/definition.ts';
import type { ServerId, TenantId } from '../../src/shared/id.ts';

function bind(definition: unknown): string {
  const result = parseDefinition({
    tenantId: 'acme' as TenantId,
    id: 's1' as ServerId,
    name: 'a',
    revision: '1',
    enabled: true,
    source: 'file',
    definition,
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return bindingOf(result.server);
}

describe('bindingOf', () => {
  const at = { url: 'https://a.test/mcp' };
  const secret = { kind: 'secret' };
  const oauth = {
    clientId: 'id',
    clientSecret: 's',
    issuer: 'https://as.test',
    resource: 'https://a.test',
    tokenEndpoint: 'https://as.test/token',
  };
  const base = { ...at, credential: { kind: 'oauth', oauth } };
  it('is short and the same for the same', () => {
    expect(bind(base)).toMatch(/^[0-9a-f]{32}$/);
    expect(bind({ ...base })).toBe(bind(base));
  });

  it.each([
    ['host', { ...base, url: 'https://evil.test/mcp' }],
    ['port', { ...base, url: 'https://a.test:444/mcp' }],
    ['protocol', { ...base, url: 'http://localhost/mcp' }],
    ['transport', { ...base, type: 'sse' }],
    ['kind', { ...at, credential: { ...base.credential, kind: 'token_exchange' } }],
    ['header', { ...at, credential: { ...base.credential, header: 'x-token' } }],
    ['scheme', { ...at, credential: { ...base.credential, scheme: '' } }],
    ...(['clientId', 'issuer', 'resource', 'tokenEndpoint'] as const).map(
      (name) =>
        [name, { ...at, credential: { kind: 'oauth', oauth: { ...oauth, [name]: 'https://other.test' } } }] as const,
    ),
  ] as const)('B168 T11: changes with the %s', (_: string, changed: unknown) => {
    expect(bind(changed)).not.toBe(bind(base));
  });

  it.each([
    ['path', { ...base, url: 'https://a.test:443/other?x=1' }],
    ['title', { ...base, title: 'New', timeoutMs: 5, prefix: 'x' }],
    ['static headers', { ...base, headers: { 'x-team': 'a' } }],
    ['client secret', { ...at, credential: { kind: 'oauth', oauth: { ...oauth, clientSecret: 'new' } } }],
  ])('B168: stays when only the %s changes', (_, changed) => {
    expect(bind(changed)).toBe(bind(base));
  });

  it('changes with a command, how its arguments are cut, and its variable', () => {
    const command = (command: string, args: readonly string[], env: string): string =>
      bind({ command, args, credential: { ...secret, env } });
    const all = [
      command('x', ['a b'], 'T'),
      command('x', ['a', 'b'], 'T'),
      command('y', ['a b'], 'T'),
      command('x', ['a b'], 'U'),
    ];
    expect(new Set(all).size).toBe(4);
  });
});
