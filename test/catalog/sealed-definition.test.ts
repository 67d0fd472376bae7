import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hasLiteralSecrets,
  maskDefinition,
  openDefinition,
  sealDefinition,
  sealLiterals,
} from '../../src/catalog/sealed-definition.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { Secret } from '../../src/shared/secret.ts';

/** Opens only under the path it was sealed for, like the real one. */
const seal = (path: string, value: string): Promise<string> =>
  Promise.resolve(Buffer.from(`${path}|${value}`).toString('base64'));
const open = (path: string, sealed: string): Promise<Secret> => {
  const [under, value = ''] = Buffer.from(sealed, 'base64').toString().split('|');
  return under === path ? Promise.resolve(new Secret(value)) : Promise.reject(new Error('does not open'));
};

const DEFINITION = {
  url: 'https://a.test/mcp',
  headers: { 'X-Team': 'core' },
  env: { TZ: 'UTC' },
  credential: { kind: 'oauth', oauth: { clientId: 'id', clientSecret: 'canary' } },
  only: ['a*'],
};

describe('sealed definitions', () => {
  it('keep no literal secret, and open to what was there', async () => {
    const sealed = await sealDefinition(DEFINITION, undefined, seal);
    expect(sealed).toEqual({
      ...DEFINITION,
      headers: { 'X-Team': { sealed: await seal('headers.x-team', 'core') } },
      env: { TZ: { sealed: await seal('env.TZ', 'UTC') } },
      credential: {
        kind: 'oauth',
        oauth: { clientId: 'id', clientSecret: { sealed: await seal('credential.oauth.clientSecret', 'canary') } },
      },
    });
    expect(hasLiteralSecrets(DEFINITION)).toBe(true);
    expect(hasLiteralSecrets(sealed)).toBe(false);
    expect(await openDefinition(sealed, open)).toEqual(DEFINITION);
  });

  it('show that something is there, never what', async () => {
    const masked = { headers: { 'X-Team': { sealed: true } }, env: { TZ: { sealed: true } } };
    const sealed = await sealDefinition(DEFINITION, undefined, seal);
    for (const definition of [DEFINITION, sealed]) {
      expect(maskDefinition(definition)).toMatchObject({
        ...masked,
        credential: { oauth: { clientId: 'id', clientSecret: { sealed: true } } },
        only: ['a*'],
      });
      expect(JSON.stringify(maskDefinition(definition))).not.toContain('canary');
    }
  });

  it('keep what is stored when the admin sends the mask back', async () => {
    const stored = await sealDefinition(DEFINITION, undefined, seal);
    const edited = { ...(maskDefinition(stored) as object), url: 'https://a.test/other', title: 'New' };
    expect(await sealDefinition(edited, stored, seal)).toEqual({
      ...(stored as object),
      url: 'https://a.test/other',
      title: 'New',
    });
  });

  it('keep a header whose case changed, and seal one that was stored in the clear', async () => {
    const kept = { headers: { 'x-team': { sealed: true } } };
    const sealed = { sealed: await seal('headers.x-team', 'core') };
    expect(await sealDefinition(kept, { headers: { 'X-Team': sealed } }, seal)).toEqual({
      headers: { 'x-team': sealed },
    });
    expect(await sealDefinition(kept, { headers: { 'X-Team': 'core' } }, seal)).toEqual({
      headers: { 'x-team': sealed },
    });
  });

  it.each([
    ['nothing was stored', { headers: { a: { sealed: true } } }, undefined],
    ['it was stored elsewhere', { headers: { a: { sealed: true } } }, { headers: { b: { sealed: 'eA==' } } }],
    ['sealed text comes from outside', { headers: { a: { sealed: 'eA==' } } }, { headers: { a: { sealed: 'eQ==' } } }],
    [
      'the server moved',
      { url: 'https://evil.test', headers: { a: { sealed: true } } },
      { url: 'https://good.test', headers: { a: { sealed: 'eA==' } } },
    ],
  ])('refuse to keep a secret when %s', async (_, definition, previous) => {
    const error: unknown = await sealDefinition(definition, previous, seal).catch((refused: unknown) => refused);
    expect(error).toBeInstanceOf(ProxyError);
    expect(error).toMatchObject({ code: 'invalid_request', data: { path: 'headers.a' } });
  });

  it('refuse to keep a client secret when the token endpoint moved', async () => {
    const at = (tokenEndpoint: string, clientSecret: unknown) => ({
      url: 'https://a.test',
      credential: { oauth: { tokenEndpoint, clientSecret } },
    });
    const stored = at('https://as.test/token', { sealed: 'eA==' });
    await expect(sealDefinition(at('https://evil.test/token', { sealed: true }), stored, seal)).rejects.toMatchObject({
      data: { path: 'credential.oauth.clientSecret' },
    });
  });

  it('do not open under another path', async () => {
    const sealed = await seal('headers.a', 'x');
    await expect(openDefinition({ headers: { b: { sealed } } }, open)).rejects.toThrow('does not open');
  });

  it('never fail on rows written by hand, and never show what stands there', async () => {
    const garbage = fc.letrec((tie) => ({
      part: fc.oneof({ maxDepth: 3 }, fc.jsonValue({ maxDepth: 1 }), tie('map')),
      map: fc.dictionary(
        fc.constantFrom('headers', 'env', 'credential', 'oauth', 'clientSecret', 'sealed', 'url', '__proto__'),
        tie('part'),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(garbage.map, async (definition) => {
        const sealed = await sealLiterals(definition, seal);
        expect(hasLiteralSecrets(sealed)).toBe(false);
        expect(hasLiteralSecrets(maskDefinition(definition))).toBe(false);
        await openDefinition(definition, (_, text) => Promise.resolve(text));
      }),
    );
    for (const nothing of [null, undefined, 3, 'text', ['list']]) {
      expect(maskDefinition(nothing)).toBe(nothing);
      expect(await sealDefinition(nothing, 'x', seal)).toBe(nothing);
      expect(await openDefinition(nothing, open)).toBe(nothing);
      expect(hasLiteralSecrets(nothing)).toBe(false);
    }
    const odd = { headers: 'canary', env: ['canary'], credential: { oauth: 'canary' } };
    expect(JSON.stringify(maskDefinition(odd))).not.toContain('canary');
    expect(JSON.stringify(maskDefinition({ credential: 'canary', env: { PIN: 12345 } }))).not.toMatch(/canary|12345/);
  });
});
