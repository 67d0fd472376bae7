// Every way in which a server can be bad gives a clear answer within bounds, and harms no other tenant.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { RAW_KINDS, useScene, without } from '../support/scene.ts';
import { type BadMode, PROBE_FAULTS } from '../support/upstreams/bad-server.ts';
import { faults } from '../support/upstreams/faults.ts';
import { within } from '../support/within.ts';

const scene = useScene({ limits: { listDeadlineMs: 2_000 } });

/** What a call comes to while the fault strikes the call itself. */
const OUTCOMES: Readonly<
  Partial<Record<BadMode, 'served' | 'upstream_timeout' | 'upstream_unavailable' | 'upstream_protocol'>>
> = {
  hang: 'upstream_timeout',
  'hang-after-headers': 'upstream_timeout',
  'die-mid-answer': 'upstream_unavailable',
  reset: 'upstream_unavailable',
  'endless-body': 'upstream_protocol',
  'endless-event': 'upstream_protocol',
  html: 'upstream_protocol',
  'redirect-to-html': 'upstream_protocol',
  'http-500': 'upstream_unavailable',
  'http-503': 'upstream_unavailable',
  'http-429-once': 'upstream_unavailable',
  'accepted-202': 'upstream_protocol',
  'empty-200': 'upstream_protocol',
  unauthorized: 'upstream_unavailable',
  forbidden: 'upstream_unavailable',
  'insufficient-scope': 'upstream_unavailable',
  gzip: 'served',
  array: 'upstream_protocol',
  'neither-result-nor-error': 'upstream_protocol',
  'wrong-id': 'upstream_protocol',
  'string-id': 'served',
  'null-id-error-first': 'served',
  'invalid-json': 'upstream_protocol',
  'invalid-utf8': 'served',
  'sse-no-answer': 'upstream_unavailable',
  'sse-unterminated': 'upstream_unavailable',
  'sse-crlf': 'served',
  'sse-cr': 'served',
  'sse-split': 'served',
  'sse-multi-data': 'served',
  'sse-primed': 'served',
  'sse-unknown-events': 'served',
  'sse-bom': 'served',
  'sse-no-space': 'served',
  'asks-elicitation': 'served',
  'asks-sampling': 'served',
  'asks-ping': 'served',
  'asks-roots': 'served',
};

describe.each(RAW_KINDS)('for %s', (kind) => {
  it.each(Object.entries(OUTCOMES))(
    'a call to a server of kind %s is %s, once, and leaves others alone',
    async (name, outcome) => {
      const mode = name as BadMode;
      const server = await scene.bad('healthy', { on: 'tools/call' });
      const good = await scene.open('modern');
      const tenant = await scene.tenant({ bad: without(server, { timeoutMs: 700 }) });
      const other = await scene.tenant({ good: without(good) });
      const [agent, neighbour] = [await tenant.raw(kind), await other.raw(kind)];
      await agent.listTools();
      await neighbour.listTools();
      server.mode = mode;
      const call = within(agent.send('tools/call', { name: 'bad__echo', arguments: { a: 'é' } }), 'an answer', 5_000);
      for (let n = 0; n < 3; n++)
        expect(textOf(await within(neighbour.callTool('good__whoami'), "the neighbour's call", 1_500))).toMatch(
          /^who=/,
        );
      const response = await call;
      expect(response.status).toBe(200);
      const answer = await response.answer();
      if (outcome === 'served') expect(answer).toHaveProperty('result.content');
      else expect(answer).toMatchObject({ result: { isError: true, structuredContent: { error: outcome } } });
      expect(JSON.stringify(answer), 'no inner name, no address').not.toMatch(/undici|ECONN|127\.0\.0\.1|node:|\.ts\b/);
      expect(server.strikes).toBe(1);
      server.mode = 'healthy';
      expect(textOf(await agent.callTool('bad__echo', { a: 'é' })), 'and it heals').toContain('é');
      if (mode !== 'hang') await server.until(() => server.openResponses === 0, 'nothing to be left open');
    },
  );

  it('B135: however an old server refuses the question for its era, it is served as one', async () => {
    const servers = await Promise.all(PROBE_FAULTS.map((mode) => scene.bad(mode, { on: 'server/discover' })));
    const tenant = await scene.tenant();
    await Promise.all(servers.map((server, at) => tenant.put(`p${at}`, without(server, { connectTimeoutMs: 2_000 }))));
    const agent = await tenant.raw(kind);
    for (const [at, mode] of PROBE_FAULTS.entries()) {
      expect(textOf(await within(agent.callTool(`p${at}__echo`, { at }), mode, 5_000)), mode).toBe(`{"at":${at}}`);
    }
  });

  it.each(Object.keys(faults) as BadMode[])(
    'a server of kind %s, whatever it is asked, is listed as unavailable in time',
    async (mode) => {
      if (mode === 'healthy' || mode === 'poisoned-tools' || mode.startsWith('asks-')) return;
      const server = await scene.bad(mode, { on: 'anything' });
      const good = await scene.open('legacy');
      const tenant = await scene.tenant({
        bad: without(server, { connectTimeoutMs: 1_000, timeoutMs: 500 }),
        good: without(good),
      });
      const agent = await tenant.raw(kind);
      const listing = await within(agent.listTools(), 'the list', 3_500);
      expect(listing.tools.map(({ name }) => name)).toContain('good__whoami');
    },
  );
});
