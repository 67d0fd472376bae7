import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DiscoveryBench, OAUTH, OIDC, PRM } from './a-discovery-bench.ts';
import { failureOf, metadataOf } from './an-oauth-bench.ts';
import type { Script, Site } from './an-oauth-site.ts';

let bench: DiscoveryBench;
let u: Site;
let as: Site;
beforeEach(async () => {
  bench = await DiscoveryBench.open();
  ({ u, as } = bench);
});
afterEach(() => bench.close());

describe('the metadata of an issuer', () => {
  const found = (path: string, issuer: string, rest: object = {}): Record<string, Script> => ({
    [path]: { json: metadataOf(issuer, rest) },
  });

  it('is sought at three addresses when the issuer has a path (B138)', async () => {
    const issuer = `${as.origin}/realms/r1`;
    u.on({ [PRM]: bench.resource({ authorization_servers: [issuer] }) });
    as.on(found(`/realms/r1${OIDC}`, issuer));
    expect((await bench.discover()).issuer).toBe(issuer);
    expect(as.paths).toEqual([`${OAUTH}/realms/r1`, `${OIDC}/realms/r1`, `/realms/r1${OIDC}`]);
  });

  it('is sought at two when it has none', async () => {
    as.on({ [OAUTH]: { status: 404 }, ...found(OIDC, as.origin) });
    u.on({ [PRM]: bench.resource() });
    expect((await bench.discover()).issuer).toBe(as.origin);
    expect(as.paths).toEqual([OAUTH, OIDC]);
  });

  it('is that of the first issuer that has one, where the server names several', async () => {
    const dead = await bench.site();
    u.on({ [PRM]: bench.resource({ authorization_servers: [dead.origin, as.origin] }) });
    expect((await bench.discover()).issuer).toBe(as.origin);
    expect(dead.paths).toEqual([OAUTH, OIDC]);
  });

  it('must name the very issuer it was asked for, compared as text (B138, B166, T2)', async () => {
    u.on({ [PRM]: bench.resource() });
    for (const foreign of [`${as.origin}/`, as.origin.toUpperCase(), 'https://as.test', `${as.origin}/x`, undefined]) {
      bench.publish({ issuer: foreign });
      const error = await failureOf(bench.discover(undefined, { revision: String(foreign) }));
      expect(error).toMatchObject({ code: 'upstream_protocol' });
      expect(error.message).toContain('names another issuer');
    }
  });

  it('with a foreign token endpoint under its own name is refused when the name is not its own (B166)', async () => {
    const honest = as;
    const evil = await bench.site();
    evil.on({ [OAUTH]: { json: metadataOf(honest.origin, { token_endpoint: `${evil.origin}/token` }) } });
    u.on({ [PRM]: bench.resource({ authorization_servers: [evil.origin] }) });
    expect(await failureOf(bench.discover())).toMatchObject({ code: 'upstream_protocol' });
    expect(evil.at('/token')).toEqual([]);
  });

  it('of the server itself does where nothing else is published (B140)', async () => {
    u.on(found(OAUTH, u.origin));
    expect(await bench.discover()).toMatchObject({ issuer: u.origin, resource: `${u.origin}/team/mcp`, scopes: [] });
  });

  it('of the server itself may be written with a slash, and is kept so (B140)', async () => {
    u.on({ [OAUTH]: { json: metadataOf(u.origin, { issuer: `${u.origin}/` }) } });
    expect((await bench.discover()).issuer).toBe(`${u.origin}/`);
  });

  it('that is nowhere leaves the admin with a plain message (B140)', async () => {
    const error = await failureOf(bench.discover());
    expect(error).toMatchObject({ code: 'upstream_protocol' });
    expect(error.message).toMatch(/offers no sign-in .*"authorizationEndpoint" and "tokenEndpoint"/);
  });

  it.each(['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'])(
    'with a cleartext %s is refused by the name of the field, and nothing is sent there (B141, B234, T8)',
    async (field) => {
      const canary = await bench.canary();
      bench.publish({ [field]: `${canary.origin}/here` });
      u.on({ [PRM]: bench.resource() });
      const error = await failureOf(bench.discover());
      expect(error).toMatchObject({ code: 'upstream_protocol' });
      expect(error.message).toContain(`"${field}" is no https:// address`);
      expect(canary.requests).toEqual([]);
    },
  );

  it.each([
    'javascript:alert(1)',
    'file:///x',
    '//as.test/x',
    '/authorize',
    'https://a:b@as.test/x',
    'https:\\\\as.test',
    'https://as.test/#f',
    'https://as.test/ x',
  ])('with %j as authorization endpoint is refused (T8)', async (address) => {
    bench.publish({ authorization_endpoint: address });
    u.on({ [PRM]: bench.resource() });
    expect((await failureOf(bench.discover())).message).toContain('"authorization_endpoint"');
  });

  it('with a cleartext issuer is not even asked (B141, T8)', async () => {
    const canary = await bench.canary();
    u.on({ [PRM]: bench.resource({ authorization_servers: [canary.origin] }) });
    expect((await failureOf(bench.discover())).message).toContain('"authorization_servers" is no https:// address');
    expect(canary.requests).toEqual([]);
  });

  it('must say S256, unless the admin says that PKCE is checked (T5)', async () => {
    u.on({ [PRM]: bench.resource() });
    for (const methods of [undefined, ['plain'], [], 'S256']) {
      bench.publish({ code_challenge_methods_supported: methods });
      const error = await failureOf(bench.discover(undefined, { revision: JSON.stringify(methods) ?? '-' }));
      expect(error).toMatchObject({ code: 'upstream_protocol' });
      expect(error.message).toContain('allowMissingPkceMetadata');
    }
    expect(await bench.discover(undefined, { oauth: { allowMissingPkceMetadata: true } })).toMatchObject({
      issuer: as.origin,
    });
  });

  it('tells what else the server can do', async () => {
    bench.publish({
      registration_endpoint: `${as.origin}/register`,
      revocation_endpoint: `${as.origin}/revoke`,
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
      token_endpoint_auth_methods_supported: ['client_secret_post', 'none'],
      scopes_supported: ['read', 'offline_access'],
    });
    u.on({ [PRM]: bench.resource() });
    expect(await bench.discover()).toMatchObject({
      registrationEndpoint: `${as.origin}/register`,
      revocationEndpoint: `${as.origin}/revoke`,
      takesMetadataDocument: true,
      answersWithIssuer: true,
      tokenAuthMethods: ['client_secret_post', 'none'],
      scopes: [],
      offersOfflineAccess: true,
    });
  });
});
