// The corpus of names that move and of chains of redirects, through the product: calls for the first, and for the second
// whichever request of the product is of that kind, the stream of a legacy server or what is posted to a modern one.
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { without } from '../support/scene.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import type { Seen } from '../upstream/egress/a-network.ts';
import { twoFaced } from '../upstream/egress/two-faced.ts';
import { type Vector, vectorsOf } from '../upstream/egress/vectors.ts';
import { HOST, hello, PUBLIC, useSmallInternet } from './a-small-internet.ts';

const clock = new FakeClock();
const internet = useSmallInternet({ allow: [], allowHttp: false, ports: [443, 8443], nat64: false }, clock);
beforeEach(() => {
  for (const past of [internet.network.seen, internet.network.dialled, internet.network.asked]) past.length = 0;
});

const named = (text: string): string => new URL(text).hostname;

/** A call over a socket of which nobody has heard yet that it is gone would be lost, and not refused. */
async function hangUp(): Promise<void> {
  internet.network.hangUp();
  await nextTurn();
  await nextTurn();
}

// One of the eight is elsewhere: a call is only tried again with another token, and for that a sign-in server is needed
// ("is tried again after a 401" in egress-entry-points.test.ts).
const MOVING = vectorsOf('rebind').filter(({ id }) => id !== 'rebind-retry-after-401');

describe('a name that moves', () => {
  it('is tried here, but for one', () => {
    expect(MOVING).toHaveLength(vectorsOf('rebind').length - 1);
  });

  it.each(MOVING)('$id: $why', async ({ url, resolver_sequence = [], steps = [], ...vector }) => {
    const { network, scene } = internet;
    network.answer(named(url), [PUBLIC]);
    internet.serve('modern');
    const tenant = await scene.tenant({ s: without({ url }) });
    const agent = await tenant.raw('rawModern');
    expect(textOf(await agent.callTool('s__act'))).toBe('hello');
    await hangUp();
    const second = vector.resolver_getter_second_read;
    const lists = resolver_sequence.map((list) =>
      second === undefined ? list : list.map((answer) => twoFaced(answer, second)),
    );
    network.answer(named(url), ...lists);
    const allowed = steps.flatMap(({ dial = [] }) => dial);
    for (const [at, step] of steps.entries()) {
      const before = network.dialled.length;
      const result = await agent.callTool('s__act');
      if (step.expect === 'allow') expect(textOf(result)).toBe('hello');
      else expect(result).toMatchObject({ isError: true, structuredContent: { error: 'egress_denied' } });
      // After a refused call the product lists the server's tools anew, which is a step of its own to the network.
      const dialled = new Set(network.addresses.slice(before));
      if (step.expect === 'allow') expect(dialled).toEqual(new Set(step.dial));
      else for (const address of dialled) expect(allowed).toContain(address);
      if (steps[at + 1]?.reuse !== true) await hangUp();
    }
  });
});

/** The network of the vector, from now on; at the end the registered host is where it was, for whoever tries again. */
function resolveAs({ dns = {} }: Vector): void {
  for (const [host, answers] of Object.entries(dns)) {
    const lists = Array.isArray(answers[0]) ? (answers as string[][]) : [answers as string[]];
    internet.network.answer(host, ...lists, ...(host === HOST ? [[PUBLIC]] : []));
  }
}

/** Answers with the links of the chain, one after the other. */
function inTurn({ chain = [] }: Vector): (nth: number, response: ServerResponse) => void {
  return (nth, response) => {
    const { status, location, close } = chain[nth] ?? { status: 200 };
    if (close === true) response.shouldKeepAlive = false;
    response.writeHead(status, location === undefined ? {} : { location });
    response.end();
  };
}

function expectOutcome(vector: Vector, seen: readonly Seen[]): void {
  const { chain = [], verdict } = vector;
  for (const address of internet.network.addresses) expect([PUBLIC, '1.1.1.1']).toContain(address);
  if (verdict === 'deny') {
    expect(seen.length).toBeLessThanOrEqual(4);
    expect(seen.length).toBeLessThan(chain.length + (chain.at(-1)?.status === 200 ? 0 : 1));
    return;
  }
  const last = chain.findIndex(({ status }) => ![301, 302, 303, 307, 308].includes(status));
  expect(seen).toHaveLength(last + 1);
  for (const [hop, names] of Object.entries(vector.forbid_headers_from_hop ?? {}))
    for (const { headers } of seen.slice(Number(hop) - 1))
      for (const name of names) expect(headers).not.toHaveProperty(name);
  for (const [hop, names] of Object.entries(vector.require_headers_at_hop ?? {}))
    for (const name of names) expect(seen[Number(hop) - 1]?.headers).toHaveProperty(name);
}

/** The headers of an admin: whatever has one stays at its origin. Those of the corpus that no admin may set are the product's. */
function definitionFor({ mode, headers = {}, url }: Vector): JsonObject {
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => /^(?:x-|authorization$)/.test(name)));
  const more = mode === 'same-origin' ? { headers: { 'x-team': 'core', ...kept } } : {};
  return without({ url }, more);
}

const CHAINS = vectorsOf('redirect');

describe('a chain of redirects of a stream', () => {
  it.each(CHAINS.filter(({ method }) => method === undefined))(
    '$id ($mode): $verdict, because $why',
    async (vector) => {
      const { network, scene } = internet;
      network.answer(HOST, [PUBLIC]);
      const turn = inTurn(vector);
      const hops: Seen[] = [];
      let again = false;
      internet.serve('legacy', {
        onGet: (request, response) => {
          // Nothing of a chain leads back to where it began: that is the next try, so this one has ended.
          again ||= hops.length > 0 && request.host === HOST && request.url === '/mcp';
          if (again) return void response.writeHead(405).end();
          hops.push(request);
          turn(hops.length - 1, response);
        },
      });
      const tenant = await scene.tenant({ s: definitionFor(vector) });
      const agent = await tenant.raw('rawLegacy');
      expect(textOf(await agent.callTool('s__act'))).toBe('hello');
      resolveAs(vector);
      await agent.onListChanged(() => undefined);
      await eventually('the next try', () => {
        clock.advance(1_000);
        return again;
      });
      expectOutcome(vector, hops);
    },
  );
});

describe('a chain of redirects of what is posted', () => {
  it.each(CHAINS.filter(({ method }) => method === 'POST'))('$id ($mode): $verdict, because $why', async (vector) => {
    const { scene } = internet;
    resolveAs(vector);
    const turn = inTurn(vector);
    const hops: Seen[] = [];
    internet.serve('modern', {
      onCall: (request, response) => {
        hops.push(request);
        if (hops.length === vector.chain?.length) hello(request, response);
        else turn(hops.length - 1, response);
      },
    });
    const tenant = await scene.tenant({ s: definitionFor(vector) });
    const result = await (await tenant.raw('rawModern')).callTool('s__act');
    if (vector.verdict === 'allow') expect(textOf(result)).toBe('hello');
    else expect(result).toMatchObject({ isError: true, structuredContent: { error: 'upstream_protocol' } });
    expectOutcome(vector, hops);
    for (const { method, body } of hops) expect({ method, body }).toEqual({ method: 'POST', body: hops[0]?.body });
  });
});
