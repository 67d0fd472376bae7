import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serverOf } from '../../catalog/read-definition.ts';
import { DiscoveryBench, OAUTH, PRM } from './a-discovery-bench.ts';
import { failureOf, NEVER } from './an-oauth-bench.ts';
import type { Site } from './an-oauth-site.ts';

let bench: DiscoveryBench;
let u: Site;
let as: Site;
beforeEach(async () => {
  bench = await DiscoveryBench.open();
  ({ u, as } = bench);
});
afterEach(() => bench.close());

describe('what the admin pinned', () => {
  it('makes discovery needless when it is both endpoints', async () => {
    const pins = { authorizationEndpoint: 'https://as.test/a?p=1', tokenEndpoint: 'https://as.test/t' };
    expect(await bench.discover('Bearer scope="a"', { oauth: pins })).toMatchObject({
      ...pins,
      issuer: 'https://as.test',
      resource: `${u.origin}/team/mcp`,
      scopes: ['a'],
    });
    expect((await bench.discover(undefined, { oauth: { ...pins, issuer: 'https://as.test/x/' } })).issuer).toBe(
      'https://as.test/x/',
    );
    expect(u.requests).toEqual([]);
  });

  it('sends people to that issuer, whatever the server says', async () => {
    u.on({ [PRM]: bench.resource({ authorization_servers: ['https://elsewhere.test'] }) });
    expect(await bench.discover(undefined, { oauth: { issuer: as.origin } })).toMatchObject({ issuer: as.origin });
  });

  it('does without any document of the server, whose canonical address is then the resource', async () => {
    const place = await bench.discover(undefined, { oauth: { issuer: as.origin }, path: '/team/mcp/?key=canary' });
    expect(place).toMatchObject({ issuer: as.origin, resource: `${u.origin}/team/mcp` });
  });

  it('overrules one endpoint of the metadata', async () => {
    u.on({ [PRM]: bench.resource() });
    const pins = { authorizationEndpoint: 'https://front.test/authorize' };
    expect(await bench.discover(undefined, { oauth: pins })).toMatchObject({
      ...pins,
      tokenEndpoint: `${as.origin}/token`,
    });
  });

  it('is all there is for a command', async () => {
    const command = (oauth: object) =>
      serverOf(
        { command: 'npx', credential: { kind: 'oauth', env: 'TOKEN', oauth } },
        { source: 'file', revision: JSON.stringify(oauth) },
      );
    const error = await failureOf(bench.servers.discover(command({}), undefined, NEVER));
    expect(error).toMatchObject({ code: 'upstream_protocol' });
    const place = await bench.servers.discover(
      command({ issuer: as.origin, resource: 'https://r.test' }),
      undefined,
      NEVER,
    );
    expect(place).toMatchObject({ issuer: as.origin, resource: 'https://r.test' });
  });
});

describe('a service that signs in by itself', () => {
  it('needs neither an authorization endpoint nor PKCE', async () => {
    u.on({ [PRM]: bench.resource() });
    as.on({ [OAUTH]: { json: { issuer: as.origin, token_endpoint: `${as.origin}/token` } } });
    const own = { kind: 'client_credentials', oauth: { clientId: 'c', clientSecret: 's' } };
    expect(await bench.discover(undefined, own)).toMatchObject({ tokenEndpoint: `${as.origin}/token` });
  });
});
