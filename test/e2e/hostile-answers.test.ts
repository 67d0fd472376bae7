// Whatever a server answers to a call, the call ends in time with the right word, and the next one is served.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { ERAS, RAW_KINDS, Scene, without } from '../support/scene.ts';
import { type ScriptedCall, type ScriptedUpstream, startScripted } from '../support/scripted-upstream.ts';
import { ANSWERS } from '../support/upstreams/hostile-answers.ts';
import { isObject, type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';

/** Of a call that nothing but its deadline ends. */
const TIMEOUT_MS = 3_000;
/** Of all others: on a busy machine their work alone takes seconds, and the deadline is not what they are about. */
const PATIENT_MS = 12_000;
/** Server and proxy share one thread here, and megabytes have to be written and read. */
const LATE_MS = 6_000;
const GOOD = '{"resultType":"complete","content":[{"type":"text","text":"fine"}]}';

const serverFor = (era: string | undefined, timeoutMs: number): string => `${String(era)}${timeoutMs}`;

const scene = new Scene({});
const servers: ScriptedUpstream[] = [];
const agents: RawAgent[] = [];
const good = ({ result }: ScriptedCall): void => result(GOOD);
let answer = good;

beforeAll(async () => {
  await scene.begin();
  for (const era of ERAS) servers.push(await startScripted({ era, onCall: (call) => answer(call) }));
  const tenant = await scene.tenant(
    Object.fromEntries(
      servers.flatMap((server, nth) =>
        [TIMEOUT_MS, PATIENT_MS].map((timeoutMs) => [serverFor(ERAS[nth], timeoutMs), without(server, { timeoutMs })]),
      ),
    ),
  );
  for (const kind of RAW_KINDS) agents.push(await tenant.raw(kind));
}, 60_000);

afterAll(async () => {
  await scene.end();
  for (const server of servers) await server.close();
});

/** What became of the call: an error of the server's own is served as well. */
function outcomeOf(reply: JsonObject): string {
  if (isObject(reply['error'])) return 'served';
  return String(objectAt(objectAt(reply, 'result'), 'structuredContent')['error'] ?? 'served');
}

describe.each(Object.entries(ANSWERS))('%s', (_name, attack) => {
  it.each(ERAS)('of a %s server ends as it should', async (era) => {
    const agent = agents[ERAS.indexOf(era)];
    if (agent === undefined) throw new Error('no agent');
    const timeoutMs = attack.outcome === 'upstream_timeout' ? TIMEOUT_MS : PATIENT_MS;
    const tool = `${serverFor(era, timeoutMs)}__act`;
    answer = attack.answer;
    const call = agent.send('tools/call', { name: tool, arguments: {} });
    const reply = await (await within(call, 'an answer', timeoutMs + LATE_MS)).answer();
    expect(outcomeOf(reply)).toBe(attack.outcome);
    expect(JSON.stringify(reply).length).toBeLessThan(200_000);
    expect(Object.getPrototypeOf({}), 'no other prototype').not.toHaveProperty('admin');
    answer = good;
    expect(textOf(await agent.callTool(tool)), 'the next call').toBe('fine');
  });
});
