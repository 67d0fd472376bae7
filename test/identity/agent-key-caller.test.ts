import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAgentKey } from '../../src/identity/agent-key.ts';
import { createApiKeyVerifier } from '../../src/identity/api-key-verifier.ts';
import { createSigner, sign, tenant, World } from './support.ts';

describe('a call with an agent key', () => {
  it('acts for the fixed principal of the key', async () => {
    const world = new World();
    const { key, record } = world.addKey({ principal: 'ann', scopes: ['mcp'] });
    const caller = await world.ask(key);
    expect(caller).toEqual({
      tenantId: 'a',
      principalId: 'ann',
      agentId: record.id,
      scopes: new Set(['mcp']),
      key: 'a\u0000ann',
    });
  });

  it('acts for the principal in the header when the key may', async () => {
    const world = new World();
    const anyone = world.addKey({ mayActFor: '*' }).key;
    const two = world.addKey({ mayActFor: ['ann', 'bob'] }).key;
    expect(await world.outcome(anyone, { principalHeader: 'zoe' })).toMatchObject({ principalId: 'zoe' });
    expect(await world.outcome(two, { principalHeader: ['bob'] })).toMatchObject({ principalId: 'bob' });
    expect(await world.outcome(two, { principalHeader: 'zoe' })).toBe('insufficient_scope');
  });

  it('lets nobody else be named with a key of a fixed principal', async () => {
    const world = new World();
    const { key } = world.addKey({ principal: 'ann' });
    expect(await world.outcome(key, { principalHeader: 'ann' })).toMatchObject({ principalId: 'ann' });
    expect(await world.outcome(key, { principalHeader: 'bob' })).toBe('insufficient_scope');
  });

  it('says clearly that the principal is missing', async () => {
    const world = new World();
    const { key } = world.addKey({ mayActFor: '*' });
    await expect(async () => world.ask(key)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('Keybearer-Principal'),
    });
    expect(await world.outcome(key, { principalHeader: [] })).toBe('invalid_request');
  });

  it('B223: compares principals byte for byte and refuses an empty one', async () => {
    const world = new World();
    const { key } = world.addKey({ mayActFor: ['ann', 'jos\u00e9'] });
    const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
    expect(await world.outcome(key, { principalHeader: latin1('jos\u00e9') })).toMatchObject({
      principalId: 'jos\u00e9',
    });
    for (const other of ['Ann', 'ann.', latin1('jose\u0301'), latin1('ann\u200b')]) {
      expect(await world.outcome(key, { principalHeader: other })).toBe('insufficient_scope');
    }
    for (const broken of [
      '',
      ' ',
      'ann ',
      latin1('ann\u00a0'),
      latin1('\ufeffann'),
      'a\u0000',
      'jos\u00e9',
      '\u0161nn',
      '\ud800',
      'x'.repeat(513),
    ]) {
      expect(await world.outcome(key, { principalHeader: broken })).toBe('invalid_request');
    }
  });

  it('B223: never has one caller key for two principals or tenants', async () => {
    const world = new World();
    const keys = {
      a: world.addKey({ mayActFor: '*' }).key,
      b: world.addKey({ tenantId: tenant('b'), mayActFor: '*' }).key,
    };
    const seen = new Map<string, string>();
    const ask = fc.asyncProperty(
      fc.constantFrom('a' as const, 'b' as const),
      fc.string({ minLength: 1, maxLength: 20 }),
      async (who, principal) => {
        const caller = await world.outcome(keys[who], { principalHeader: principal });
        if (typeof caller === 'string') return;
        const meant = JSON.stringify([who, caller.principalId]);
        expect(caller.tenantId).toBe(who);
        expect(seen.get(caller.key) ?? meant).toBe(meant);
        seen.set(caller.key, meant);
      },
    );
    await fc.assert(ask, { numRuns: 500 });
    expect(seen.size).toBeGreaterThan(100);
  });

  it('B228: believes the header only beside a key, and only once', async () => {
    const world = new World();
    const { key } = world.addKey({ mayActFor: '*' });
    expect(await world.outcome(undefined, { principalHeader: 'ann' })).toBe('unauthenticated');
    expect(await world.outcome(`kb_${'a'.repeat(43)}`, { principalHeader: ['ann', 'bob'] })).toBe('unauthenticated');
    expect(await world.outcome(key, { principalHeader: ['ann', 'bob'] })).toBe('invalid_request');
    expect(await world.outcome(key, { principalHeader: ['ann', 'ann'] })).toBe('invalid_request');
  });

  it('refuses an unknown key and one that has expired, also when it was good a moment ago', async () => {
    const world = new World();
    const { key } = world.addKey({ principal: 'ann', expiresAt: world.clock.now() + 1000 });
    const never = createAgentKey(
      { tenantId: tenant('a'), name: 'k', principal: 'ann', scopes: [], expiresAt: undefined },
      world.clock,
    ).key;
    expect(await world.outcome(never)).toBe('unauthenticated');
    expect(await world.outcome(key)).toMatchObject({ principalId: 'ann' });
    world.clock.advance(999);
    expect(world.ask(key)).toMatchObject({ principalId: 'ann' });
    world.clock.advance(1);
    expect(await world.outcome(key)).toBe('unauthenticated');
  });

  it('keeps keys of the admin API away from MCP', async () => {
    const world = new World();
    const admin = world.addKey({ scopes: ['admin:a'], mayActFor: '*' }).key;
    const both = world.addKey({ scopes: ['admin:a', 'mcp'], mayActFor: '*' }).key;
    expect(await world.outcome(admin, { principalHeader: 'ann' })).toBe('insufficient_scope');
    expect(await world.outcome(both, { principalHeader: 'ann' })).toMatchObject({ principalId: 'ann' });
  });

  it('refuses a key of a tenant that is gone', async () => {
    const world = new World();
    const { key } = world.addKey({ principal: 'ann' });
    world.tenants.delete('a');
    expect(await world.outcome(key)).toBe('unauthenticated');
  });

  it('does not take a row that belongs to another key', async () => {
    const world = new World();
    const { key } = world.addKey({ principal: 'ann' });
    const other = world.addKey({ principal: 'bob' }).record;
    const verifier = createApiKeyVerifier({ findByHash: async () => other }, world.clock);
    expect(await verifier.find(key)).toBeUndefined();
  });
});

describe('the Authorization header', () => {
  it('is one bearer token in any case of the scheme', async () => {
    const world = new World();
    const { key } = world.addKey({ principal: 'ann' });
    for (const authorization of [`Bearer ${key}`, `bearer ${key}`, `BEARER  ${key}`]) {
      expect(await world.outcome(undefined, { authorization })).toMatchObject({ principalId: 'ann' });
    }
    for (const authorization of [
      '',
      key,
      'Bearer',
      'Bearer ',
      `Basic ${key}`,
      `Bearer ${key} x`,
      `Bearer ${key}, Bearer ${key}`,
      `Bearer ${key},x`,
      ` Bearer ${key}`,
    ]) {
      expect(await world.outcome(undefined, { authorization })).toBe('unauthenticated');
    }
  });

  it('never makes us look up a token over 8 KiB or of a wrong form', async () => {
    const world = new World();
    const long = `${'a'.repeat(4000)}.${'a'.repeat(4000)}.${'a'.repeat(4000)}`;
    expect(await world.outcome(long)).toBe('unauthenticated');
    expect(await world.outcome(`kb_${'a'.repeat(42)}`)).toBe('unauthenticated');
    expect(await world.outcome(await sign(await createSigner('k1'), world.claims({ pad: 'x'.repeat(8000) })))).toBe(
      'unauthenticated',
    );
    expect(world.lookUps).toEqual({ keys: 0, issuers: 0 });
  });
});
