import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProxyError } from '../../../src/shared/errors.ts';
import { challenging, DiscoveryBench, OAUTH, OIDC, PRM } from './a-discovery-bench.ts';
import { failureOf, metadataOf, NEVER, printed } from './an-oauth-bench.ts';
import type { Site, SiteAnswer } from './an-oauth-site.ts';

let bench: DiscoveryBench;
let u: Site;
let as: Site;
beforeEach(async () => {
  bench = await DiscoveryBench.open();
  ({ u, as } = bench);
});
afterEach(() => bench.close());

describe('one discovery', () => {
  const wellFormed = (): void => void u.on({ [PRM]: bench.resource() });

  it('makes no more than eight requests (T8)', async () => {
    const many = ['/1', '/2', '/3', '/4', '/5', '/6'].map((path) => `resource_metadata="${u.origin}${path}"`);
    u.on({
      '/team/mcp': challenging(`Bearer ${many.join(', ')}`),
      [PRM]: bench.resource({ authorization_servers: [`${as.origin}/a`, `${as.origin}/b`, `${as.origin}/c`] }),
    });
    await failureOf(bench.discover());
    expect(u.requests.length + as.requests.length).toBe(8);
  });

  it('follows no redirect, wherever it comes (B234, T8)', async () => {
    const canary = await bench.canary();
    const away: SiteAnswer = { status: 307, headers: { location: `${canary.origin}/inside` } };
    for (const path of ['/team/mcp', '/meta', `${PRM}/team/mcp`, PRM, OAUTH, OIDC]) u.on({ [path]: away });
    await failureOf(bench.discover(`Bearer resource_metadata="${u.origin}/meta"`));
    await failureOf(bench.discover());
    u.on({ [PRM]: bench.resource() });
    as.on({ [OAUTH]: away, [OIDC]: away });
    await failureOf(bench.discover(undefined, { revision: '2' }));
    expect(canary.requests).toEqual([]);
  });

  it('asks nobody that a hostile server names in clear (B234, T8)', async () => {
    const canary = await bench.canary({ '/meta': bench.resource() });
    u.on({
      '/team/mcp': challenging(
        `Bearer resource_metadata="${canary.origin}/meta", resource_metadata="http://169.254.169.254/latest"`,
      ),
    });
    await failureOf(bench.discover());
    expect(canary.requests).toEqual([]);
  });

  it('asks no address that the door refuses, and takes that for a missing document (B234)', async () => {
    const inside = await bench.site({ [OAUTH]: { json: {} } });
    bench.guard = (port) => {
      if (port === new URL(inside.origin).port) throw new ProxyError('denied', 'That address may not be dialled.');
    };
    u.on({ [PRM]: bench.resource({ authorization_servers: [inside.origin] }) });
    const error = await failureOf(bench.discover());
    expect(error).toMatchObject({ code: 'upstream_protocol' });
    expect(error.message).toContain(`${OAUTH} (an address that may not be asked)`);
    expect(inside.requests).toEqual([]);
  });

  it('that failed is one line of the log, without the query of any address (T23)', async () => {
    const challenge = `Bearer resource_metadata="${u.origin}/meta?key=canary", error_description="canary"`;
    const error = await failureOf(bench.discover(challenge, { path: '/team/mcp?key=canary' }));
    expect(bench.lines).toHaveLength(1);
    expect(bench.lines[0]).toContain('sign-in not discovered');
    expect(bench.lines[0]).toMatch(/"server":"\w+"/);
    expect(u.heard).toContain('canary');
    expect(bench.lines[0]).not.toContain('canary');
    expect(printed(error)).not.toContain('canary');
  });

  it('reads no more than 256 KiB of a document', async () => {
    const huge = { text: `{"resource":"${u.origin}","x":"${'a'.repeat(300 * 1024)}"}` };
    u.on({ [`${PRM}/team/mcp`]: huge, [PRM]: huge });
    expect((await failureOf(bench.discover())).message).toContain(`${PRM} (no answer)`);
  });

  it('is made anew for somebody who signs in again: the server may have moved to another issuer', async () => {
    wellFormed();
    await bench.discover();
    const moved = await bench.site();
    moved.on({ [OAUTH]: { json: metadataOf(moved.origin) } });
    u.on({ [PRM]: bench.resource({ authorization_servers: [moved.origin] }) });
    expect((await bench.discover()).issuer).toBe(as.origin);
    expect((await bench.discover(undefined, {}, true)).issuer).toBe(moved.origin);
    expect((await bench.discover()).issuer).toBe(moved.origin);
  });

  it('serves all who ask meanwhile and a minute on', async () => {
    wellFormed();
    const places = await Promise.all(Array.from({ length: 20 }, () => bench.discover()));
    expect(new Set(places).size).toBe(1);
    bench.clock.advance(59_000);
    await bench.discover();
    expect(as.requests).toHaveLength(1);
    bench.clock.advance(1_001);
    await bench.discover();
    expect(as.requests).toHaveLength(2);
  });

  it('belongs to one revision of one server of one tenant, and to its challenge', async () => {
    wellFormed();
    const one = bench.server();
    await bench.servers.discover(one, undefined, NEVER);
    await bench.servers.discover({ ...one, revision: '2' }, undefined, NEVER);
    await bench.servers.discover({ ...one, id: 'other' as typeof one.id }, undefined, NEVER);
    await bench.servers.discover({ ...one, tenantId: 'other' as typeof one.tenantId }, undefined, NEVER);
    await bench.servers.discover(one, 'Bearer scope="a"', NEVER);
    expect(as.requests).toHaveLength(5);
  });

  it('that failed is not repeated for 15 seconds, then it is', async () => {
    await failureOf(bench.discover());
    const asked = u.requests.length;
    wellFormed();
    bench.clock.advance(14_000);
    await failureOf(bench.discover());
    expect(u.requests).toHaveLength(asked);
    bench.clock.advance(1_001);
    expect(await bench.discover()).toMatchObject({ issuer: as.origin });
  });

  it('goes on for the others when one leaves', async () => {
    wellFormed();
    u.on({ '/team/mcp': { instead: 'hang' } });
    const leaver = new AbortController();
    const left = failureOf(bench.servers.discover(bench.server(), undefined, leaver.signal));
    const stays = bench.discover();
    await u.asked(1);
    leaver.abort(new Error('gone'));
    expect((await left).message).toBe('gone');
    bench.clock.advance(10_000);
    expect(await stays).toMatchObject({ issuer: as.origin });
  });

  it('ends after half a minute at the latest, with "try later"', async () => {
    for (const path of ['/team/mcp', `${PRM}/team/mcp`, PRM, OAUTH]) u.on({ [path]: { instead: 'hang' } });
    const failing = failureOf(bench.discover());
    for (let nth = 1; nth <= 3; nth++) {
      await u.asked(nth);
      bench.clock.advance(10_000);
    }
    expect(await failing).toMatchObject({
      code: 'upstream_unavailable',
      message: expect.stringContaining('took too long'),
    });
    expect(u.requests).toHaveLength(3);
    expect(bench.clock.pending).toBe(0);
  });
});
