// Whatever a server or an agent does, the product's event loop stands for less than 100 ms, its memory stays within
// bounds, a quiet tenant's calls are answered nearly as quickly as ever and never wrongly, and the attacked call ends with
// the right word. The product runs in a process of its own and is measured there.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { type ScriptedCall, type ScriptedUpstream, startScripted } from '../support/scripted-upstream.ts';
import { ANSWERS } from '../support/upstreams/hostile-answers.ts';
import { isObject, type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';
import { REQUESTS } from './attacks-requests.ts';
import { calmly, type Tenant, UnderAttack } from './under-attack.ts';

const TIMEOUT_MS = 2_500;
const LATE_MS = 5_000;
const GOOD =
  '{"resultType":"complete","content":[{"type":"text","text":"fine"}],"structuredContent":{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}}';

/** Those of all answers that cost most, or that are of a kind of their own; the others are tried by `e2e/hostile-answers.test.ts`. */
const TRIED = [
  'a gzip bomb',
  'a bomb as an event',
  'packed bytes that become nothing',
  'a byte now and then',
  'header lines now and then',
  'an event of 96 MB without a line end',
  'a body in chunks of a byte',
  'an event in chunks of a byte',
  'a storm of notifications',
  'a notification of 15 MB',
  'ten thousand questions',
  'a result 200,000 levels deep',
  'a result 6,000,000 levels deep',
  'a million members beside the content',
  'half a million blocks',
  'a text of escaped quotes',
] as const;

let bench: UnderAttack;
let tenant: Tenant;
const servers: ScriptedUpstream[] = [];
const agents: RawAgent[] = [];
const good = ({ result }: ScriptedCall): void => result(GOOD);
let answer = good;

beforeAll(async () => {
  bench = await UnderAttack.begin();
  for (const era of ['legacy', 'modern'] as const)
    servers.push(
      await startScripted({
        era,
        onCall: (call) => answer(call),
      }),
    );
  const [legacy, modern] = servers.map(({ url }) => ({ url, timeoutMs: TIMEOUT_MS }));
  tenant = await bench.tenant({ legacy: legacy ?? {}, modern: modern ?? {} });
  agents.push(await tenant.agent('rawLegacy'), await tenant.agent('rawModern'));
  // What is cold is slow, whoever asks.
  for (const [nth, agent] of agents.entries()) await agent.callTool(nth === 0 ? 'legacy__act' : 'modern__act');
}, 120_000);

afterAll(async () => {
  await bench?.end();
  for (const server of servers) await server.close();
});

function outcomeOf(reply: JsonObject): string {
  if (isObject(reply['error'])) return 'served';
  return String(objectAt(objectAt(reply, 'result'), 'structuredContent')['error'] ?? 'served');
}

describe('an answer to a call', () => {
  it.each(TRIED.map((name, nth) => [name, nth] as const))(
    '%s',
    async (name, nth) => {
      const attack = ANSWERS[name];
      const agent = agents[nth % agents.length];
      if (attack === undefined || agent === undefined) throw new Error('no such attack');
      const tool = nth % agents.length === 0 ? 'legacy__act' : 'modern__act';
      await calmly(bench, async () => {
        answer = attack.answer;
        const call = agent.send('tools/call', { name: tool, arguments: {} });
        const reply = await (await within(call, 'the answer', TIMEOUT_MS + LATE_MS)).answer();
        expect(outcomeOf(reply)).toBe(attack.outcome);
        answer = good;
        expect(textOf(await agent.callTool(tool)), 'the next call').toBe('fine');
      });
    },
    60_000,
  );
});

describe('what an agent sends', () => {
  it.each(Object.entries(REQUESTS))(
    '%s',
    async (_name, attack) => {
      await calmly(bench, async () => {
        answer = (call) => attack.answer?.(call) ?? good(call);
        const used = await tenant.agent('rawModern');
        await attack.make(new URL(`${bench.product.url}/mcp`), tenant.headers, used);
        await used.close();
        answer = good;
      });
    },
    60_000,
  );
});
