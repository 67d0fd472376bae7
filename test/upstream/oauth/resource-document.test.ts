import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { challenging, DiscoveryBench, OAUTH, PRM } from './a-discovery-bench.ts';
import { failureOf, metadataOf } from './an-oauth-bench.ts';
import type { Site, SiteAnswer } from './an-oauth-site.ts';

let bench: DiscoveryBench;
let u: Site;
let as: Site;
beforeEach(async () => {
  bench = await DiscoveryBench.open();
  ({ u, as } = bench);
});
afterEach(() => bench.close());

describe('the document of a server', () => {
  it('is where the challenge says, and nothing else is asked', async () => {
    u.on({
      '/meta': bench.resource(),
      '/team/mcp': challenging(`Bearer resource_metadata="${u.origin}/meta", scope="a b"`),
    });
    expect(await bench.discover()).toEqual({
      issuer: as.origin,
      authorizationEndpoint: `${as.origin}/authorize`,
      tokenEndpoint: `${as.origin}/token`,
      registrationEndpoint: undefined,
      revocationEndpoint: undefined,
      takesMetadataDocument: false,
      answersWithIssuer: false,
      tokenAuthMethods: undefined,
      resource: `${u.origin}/team/mcp`,
      scopes: ['a', 'b'],
      offersOfflineAccess: false,
    });
    expect(u.paths).toEqual(['/team/mcp', '/meta']);
    expect(as.paths).toEqual([OAUTH]);
  });

  it('is asked for with a knock that carries no key and no static header', async () => {
    u.on({ [`${PRM}/team/mcp`]: bench.resource() });
    await bench.discover(undefined, { rest: { headers: { 'x-team': 'canary-header' } } });
    expect(u.requests[0]).toMatchObject({ method: 'POST', path: '/team/mcp' });
    expect(JSON.parse(u.requests[0]!.body)).toMatchObject({ method: 'tools/list' });
    expect(u.requests[0]?.headers.authorization).toBeUndefined();
    expect(u.heard).not.toContain('canary-header');
    expect(u.requests.map(({ headers }) => headers['accept-encoding'])).toEqual(['identity', 'identity']);
  });

  it('is asked for with GET where the server speaks HTTP+SSE', async () => {
    u.on({ [`${PRM}/team/mcp`]: bench.resource() });
    await bench.discover(undefined, { rest: { type: 'sse' } });
    expect(u.requests[0]?.method).toBe('GET');
  });

  it.each<[string, SiteAnswer]>([
    ['404', { status: 404 }],
    ['500', { status: 500 }],
    ['a login page', { status: 200, headers: { 'content-type': 'text/html' }, text: '<html>Sign in</html>' }],
    ['a redirect to a login page', { status: 302, headers: { location: '/login' } }],
    ['JSON that is no object', { json: [] }],
  ])('is found at the root when the path form answers with %s (B136)', async (_what, answer) => {
    u.on({ [`${PRM}/team/mcp`]: answer, [PRM]: bench.resource(), '/login': bench.resource() });
    expect(await bench.discover()).toMatchObject({ issuer: as.origin });
    expect(u.paths).toEqual(['/team/mcp', `${PRM}/team/mcp`, PRM]);
  });

  it('that is nowhere is reported with all the addresses (B136)', async () => {
    const error = await failureOf(bench.discover(`Bearer resource_metadata="${u.origin}/meta"`));
    expect(error).toMatchObject({ code: 'upstream_protocol' });
    for (const path of ['/meta (HTTP 404)', `${PRM}/team/mcp (HTTP 404)`, `${PRM} (HTTP 404)`])
      expect(error.message).toContain(path);
  });

  it('is sought at both addresses of a challenge before the well-known ones (B142)', async () => {
    u.on({ '/good': bench.resource() });
    const both = `Bearer resource_metadata="${u.origin}/bad", Bearer resource_metadata="${u.origin}/good"`;
    expect(await bench.discover(both)).toMatchObject({ issuer: as.origin });
    expect(u.paths).toEqual(['/bad', '/good']);
    u.on({
      '/team/mcp': challenging([
        `Bearer resource_metadata="${u.origin}/bad"`,
        `Bearer resource_metadata="${u.origin}/good"`,
      ]),
    });
    expect(await bench.discover()).toMatchObject({ issuer: as.origin });
  });

  it('is read only at the origin of the server, also with another port (B240)', async () => {
    const other = await bench.site({ '/meta': bench.resource() });
    u.on({ [PRM]: bench.resource() });
    expect(await bench.discover(`Bearer resource_metadata="${other.origin}/meta"`)).toMatchObject({
      issuer: as.origin,
    });
    expect(other.requests).toEqual([]);
  });

  it('is not believed while it may only be late: then it is "try later"', async () => {
    u.on({ [`${PRM}/team/mcp`]: { status: 503 }, [OAUTH]: { json: metadataOf(u.origin) } });
    expect(await failureOf(bench.discover())).toMatchObject({ code: 'upstream_unavailable' });
    expect(u.at(OAUTH)).toEqual([]);
  });

  it('must be about this server', async () => {
    for (const foreign of [
      'https://elsewhere.test/team/mcp',
      'https://elsewhere.test',
      `${u.origin}/team/mcp?x=1`,
      `${u.origin}/other`,
      `${u.origin}/team/mcp/deeper`,
      `${u.origin}/tea`,
      `${u.origin}/team/mcp#x`,
      'nonsense',
      undefined,
    ]) {
      u.on({ [PRM]: bench.resource({ resource: foreign }) });
      const error = await failureOf(bench.discover(undefined, { revision: String(foreign) }));
      expect(error).toMatchObject({ code: 'upstream_protocol' });
      expect(error.message).toContain('"resource"');
    }
    expect(as.requests).toEqual([]);
  });

  it.each(['', '/', '/team', '/team/', '/team/mcp', '/team/mcp/'])(
    'may call the server by its origin with %j, and that text is sent unchanged (B145)',
    async (path) => {
      u.on({ [PRM]: bench.resource({ resource: `${u.origin}${path}` }) });
      expect((await bench.discover()).resource).toBe(`${u.origin}${path}`);
    },
  );

  it('may be overruled by the admin (B145)', async () => {
    u.on({ [PRM]: bench.resource({ resource: 'https://elsewhere.test/mcp' }) });
    expect((await bench.discover(undefined, { oauth: { resource: 'https://U.test/mcp/' } })).resource).toBe(
      'https://U.test/mcp/',
    );
  });

  it('gives the scopes where the challenge names none', async () => {
    u.on({ [PRM]: bench.resource({ scopes_supported: ['read', 7, 'write', 'naïve'] }) });
    expect((await bench.discover()).scopes).toEqual(['read', 'write']);
    expect((await bench.discover('Bearer scope="only"')).scopes).toEqual(['only']);
  });
});
