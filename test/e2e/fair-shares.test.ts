// What one tenant, one person or one address may take of a node, over the real app. Time stands still, so that
// the numbers are exact; what comes by notice from the database is waited for. It never jumps far: the line for
// notices is probed by the same clock.
import http from 'node:http';
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import type { TestApp } from '../support/app.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useScene, without } from '../support/scene.ts';
import { within } from '../support/within.ts';

const clock = new FakeClock();
const scene = useScene({ clock });

async function countServed(agent: RawAgent, calls: number): Promise<number> {
  const results = await Promise.all(Array.from({ length: calls }, () => agent.callTool('good__whoami')));
  const refused = results.filter(({ isError }) => isError === true);
  for (const { structuredContent } of refused)
    expect(structuredContent).toMatchObject({ error: 'rate_limited', retryAfterMs: expect.any(Number) });
  return results.length - refused.length;
}

const limit = (id: string, limits: object): Promise<unknown> =>
  scene.app.adminOk('PATCH', `/tenants/${id}`, { limits });

/** Calls until the node has heard of the limit. */
async function hears(agent: RawAgent): Promise<void> {
  const look = async (): Promise<void> => {
    for (;;) if ((await countServed(agent, 30)) < 30) return;
  };
  await within(look(), 'the node to hear of the limit', 10_000);
}

describe('a tenant with a limit', () => {
  it('at ten times its limit is served as much as that, and every call of another tenant is served', async () => {
    const good = await scene.open('modern');
    const [acme, umbrella] = [await scene.tenant({ good: without(good) }), await scene.tenant({ good: without(good) })];
    const [mine, theirs] = [await acme.raw('rawModern'), await umbrella.raw('rawModern')];
    await countServed(mine, 1);
    await limit(acme.id, { requestsPerSecond: 10 });
    await limit(umbrella.id, { requestsPerSecond: 10 });
    let [served, servedOther] = [0, 0];
    for (let second = 0; second < 5; second++) {
      const [a, b] = await Promise.all([countServed(mine, 100), countServed(theirs, 10)]);
      served += a;
      servedOther += b;
      clock.advance(1_000);
    }
    expect([served, servedOther]).toEqual([20 + 4 * 10, 50]);
  });

  it('hears of a change on every node at once, and has its limit on each of them', async () => {
    const good = await scene.open('modern');
    const tenant = await scene.tenant({ good: without(good) });
    const node = await scene.node();
    const here = await tenant.raw('rawModern');
    const there = await scene.side(tenant.id, tenant.key, node).raw('rawModern');
    expect([await countServed(here, 60), await countServed(there, 60)]).toEqual([60, 60]);
    await limit(tenant.id, { requestsPerSecond: 10 });
    await hears(there);
    expect(await countServed(here, 100)).toBe(20);
    clock.advance(3_000);
    // What a tenant gets of two nodes is twice as much: each counts by itself.
    expect([await countServed(here, 100), await countServed(there, 100)]).toEqual([20, 20]);
    await limit(tenant.id, {});
    expect(await countServed(here, 100)).toBe(100);
  });

  it('leaves its people their own shares', async () => {
    const good = await scene.open('modern');
    const tenant = await scene.tenant({ good: without(good) });
    await limit(tenant.id, { requestsPerSecondPerPrincipal: 5 });
    const [ada, bob] = [await tenant.raw('rawModern', 'ada'), await tenant.raw('rawModern', 'bob')];
    // With the question by which each of them found out what is here.
    expect(await countServed(ada, 200)).toBe(20 - 1);
    expect(await countServed(bob, 20)).toBe(20 - 1);
  });

  it('is told by every node when a person wrote the limit into the table by hand', async () => {
    const good = await scene.open('modern');
    const tenant = await scene.tenant({ good: without(good) });
    const agent = await tenant.raw('rawModern');
    expect(await countServed(agent, 50)).toBe(50);
    await scene.app.sql(`UPDATE tenants SET limits = '{"requestsPerSecond": 1, "maxStreams": "x"}' WHERE id = $1`, [
      tenant.id,
    ]);
    await hears(agent);
  });

  it.each([
    [{ requestsPerSecond: 0 }, '$.limits.requestsPerSecond', 'must be a whole number from 1 to 100000'],
    [{ maxConnections: '5' }, '$.limits.maxConnections', 'must be a whole number from 1 to 1000000'],
    [{ maxChildren: 1.5 }, '$.limits.maxChildren', 'must be a whole number from 0 to 100000'],
    [{ perMinute: 5 }, '$.limits.perMinute', 'is not known.'],
  ])('takes none that does not hold: %j', async (limits, path, message) => {
    const { id } = await scene.tenant();
    const { status, body } = await scene.app.admin('PATCH', `/tenants/${id}`, { limits });
    expect([status, body['problems']]).toEqual([422, [{ path, message }]]);
  });
});

interface Answered {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly type: string | undefined;
}

const lines = new http.Agent({ keepAlive: true, maxSockets: 20 });

function ask(app: TestApp, path: string, headers: http.OutgoingHttpHeaders = {}, body?: string): Promise<Answered> {
  const answered = new Promise<Answered>((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const request = http.request(new URL(path, app.url), { agent: lines, method, headers }, (response) => {
      response.resume().on('end', () => {
        const { 'retry-after': retryAfter, 'content-type': type } = response.headers;
        resolve({ status: response.statusCode ?? 0, retryAfter, type });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
  return within(answered, path, 20_000);
}

const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const knock = (app: TestApp, headers: http.OutgoingHttpHeaders = {}): Promise<Answered> =>
  ask(app, '/mcp', { ...TYPES, ...headers }, BODY);

/** How many were answered with which status. */
async function flood(times: number, one: (n: number) => Promise<Answered>): Promise<Readonly<Record<number, number>>> {
  const counts: Record<number, number> = {};
  for (let at = 0; at < times; at += 50) {
    const some = Array.from({ length: Math.min(50, times - at) }, (_, n) => one(at + n));
    for (const { status } of await Promise.all(some)) counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

describe('strangers', () => {
  it('are stopped by address, whatever they send, and nobody with a good key behind that address is', async () => {
    const good = await scene.open('modern');
    const tenant = await scene.tenant({ good: without(good) });
    const agent = await tenant.raw('rawModern');
    await countServed(agent, 1);
    const spoofed = (n: number): http.OutgoingHttpHeaders => ({
      'x-forwarded-for': `203.0.113.${n % 250}`,
      'x-real-ip': `203.0.113.${n % 250}`,
      forwarded: `for=203.0.113.${n % 250}`,
      authorization: `Bearer kb_${String(n).padStart(43, 'x')}`,
    });
    expect(await flood(1_100, (n) => knock(scene.app, spoofed(n)))).toEqual({ 401: 1_000, 429: 100 });
    expect(await knock(scene.app)).toMatchObject({ status: 429, retryAfter: '1' });
    expect(await countServed(agent, 50)).toBe(50);
    expect(scene.app.lines.filter((line) => line.includes('X-Forwarded-For is ignored'))).toHaveLength(1);

    const unknown = { authorization: 'Bearer unknown' };
    expect(await ask(scene.app, '/admin/v1/tenants', unknown)).toMatchObject({
      status: 429,
      retryAfter: '1',
      type: expect.stringContaining('application/problem+json'),
    });
    const confirmation = JSON.stringify({ flow: 'x', principal: 'ada' });
    expect(await ask(scene.app, '/connect/handoff', { ...unknown, ...TYPES }, confirmation)).toMatchObject({
      status: 429,
      retryAfter: '1',
    });
    // The operator, pages and probes are counted apart, or not at all.
    expect((await scene.app.admin('GET', '/tenants')).status).toBe(200);
    expect((await ask(scene.app, '/connect')).status).toBe(401);
    expect((await ask(scene.app, '/healthz')).status).toBe(200);
    clock.advance(1_000);
    expect(await flood(100, (n) => knock(scene.app, spoofed(n)))).toEqual({ 401: 50, 429: 50 });
  });

  it('get so many pages and documents, with an answer of the kind they asked for', async () => {
    const counts = await flood(330, () => ask(scene.app, '/connect'));
    expect(counts).toEqual({ 401: 300, 429: 30 });
    expect(await ask(scene.app, '/connect')).toMatchObject({
      status: 429,
      retryAfter: '1',
      type: expect.stringContaining('text/html'),
    });
    expect(await ask(scene.app, '/.well-known/oauth-protected-resource/mcp')).toMatchObject({
      status: 429,
      retryAfter: '1',
      type: expect.stringContaining('application/json'),
    });
    clock.advance(10_000);
  });

  it('make no more rows than that by going off to sign in where no link is asked for', async () => {
    const { id } = await scene.tenant();
    const signIn = { mode: 'handoff', verifyUrl: 'http://127.0.0.1:9/verify', key: 'key-of-the-product' };
    await scene.app.adminOk('PATCH', `/tenants/${id}`, { signIn });
    expect(await flood(90, () => ask(scene.app, `/connect?tenant=${id}`))).toEqual({ 303: 60, 429: 30 });
    expect(await scene.app.sql('SELECT count(*)::int AS n FROM browser_sign_ins WHERE tenant_id = $1', [id])).toEqual([
      { n: 60 },
    ]);
  });

  it('behind a front that the operator named are told apart by what it says, and by nothing else', async () => {
    const node = await scene.node({ http: { trustProxy: { kind: 'addresses', addresses: ['127.0.0.1'] } } });
    const from = (said: string) => knock(node, { 'x-forwarded-for': said });
    expect(await flood(1_050, (n) => from(`198.51.100.${n % 250}, 203.0.113.1`))).toEqual({ 401: 1_000, 429: 50 });
    expect((await from('203.0.113.2')).status).toBe(401);
    expect((await from('203.0.113.2, 203.0.113.1')).status).toBe(429);
    expect((await from('203.0.113.1, 127.0.0.1')).status).toBe(429);
  });
});
