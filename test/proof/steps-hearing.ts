// What is heard while a call runs, what is heard by those who listen, and what is shown in lists: nothing of another's.
import fc from 'fast-check';
import { isObject, type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { ask, outcomeOf, send } from './asking.ts';
import { type Asked, judge } from './judge.ts';
import { type HttpName, LABELS, type Label, type Model, PRINCIPAL_CATALOGS, SERVERS } from './model.ts';
import { burst, id, label, seat, seats, server } from './places.ts';
import { type Place, type Step, step, whoamiAll } from './step.ts';
import type { Seat, World } from './world.ts';

/** Everybody's, at the same time. */
const TOKEN = 'progress';
const METHOD_NOT_FOUND = -32601;

async function chat(world: World, { seat, server }: Place, id: number): Promise<Asked> {
  const agent = await world.agent(seat);
  const question = world.nextQuestion();
  const since = performance.now();
  const args = { by: seat.label, server, question, count: 3, everyMs: 0, chatty: true };
  const response = await send(agent, { id, tool: `${server}__progress`, args, meta: { progressToken: TOKEN } });
  const outcome = await outcomeOf(response, id);
  for (const message of response.stream?.messages ?? []) judgeHeard(message, seat.label, question);
  if (outcome.kind === 'named' && server !== 'modern') await judgeDeclined(world, { seat, server }, question);
  return { tool: 'progress', seat, server, question, since, outcome };
}

/** What an upstream asks in the middle of a call is declined at once, once, over the connection of that call. */
async function judgeDeclined(world: World, { seat, server }: Place, question: number): Promise<void> {
  const upstream = world.upstreams[server].server;
  const declined = (method: string) =>
    upstream.seen.filter(({ body }) => isObject(body) && body['id'] === `${method} of ${question}`);
  for (const method of ['sampling/createMessage', 'elicitation/create']) {
    await upstream.until(() => declined(method).length > 0, `an answer to ${method}`);
    const [{ principal, body } = {}, second] = declined(method);
    const isRight = objectAt({ ...(body as JsonObject) }, 'error')['code'] === METHOD_NOT_FOUND;
    if (!isRight || second !== undefined || !String(principal).split('+').includes(seat.label))
      throw new Error(
        `${method} for ${seat.label} was answered by ${principal}: ${JSON.stringify([body, second?.body])}`,
      );
  }
}

/** What an agent hears beside its answer: the progress and the log of this very call. */
function judgeHeard(message: JsonObject, label: Label, question: number): void {
  const { method, params } = message;
  if (method === undefined) return;
  const { progressToken, message: text, data } = isObject(params) ? params : {};
  const who = method === 'notifications/progress' ? String(text).split(' ')[0] : objectAt({ data }, 'data')['who'];
  const isOwn =
    String(who).split('+').includes(label) &&
    (method === 'notifications/progress'
      ? progressToken === TOKEN
      : method === 'notifications/message' && objectAt({ data }, 'data')['question'] === question);
  if (!isOwn) throw new Error(`${label} heard ${JSON.stringify(message)} for question ${question}`);
}

const chatAtOnce = step('chatAtOnce', fc.record({ places: burst, id }), async (model, world, { places, id }) => {
  judge(model, world, await Promise.all(places.map((place) => chat(world, place, id))));
});

const listen = step('listen', fc.record({ seats }), async (_model, world, { seats }) => {
  const turn = async (seat: Seat): Promise<void> => {
    if (world.isListening(seat)) world.unlisten(seat);
    else await world.listen(seat);
  };
  await Promise.all(seats.map(turn));
});

const announce = step(
  'announce',
  fc.record({ server, isThere: fc.boolean(), places: burst, id }),
  async (model, world, { server, isThere, places, id }) => {
    const upstream = world.upstreams[server].server;
    if (isThere) upstream.addTool('late');
    else upstream.removeTool('late');
    judge(model, world, await whoamiAll(world, places, id));
  },
);

/** The people whose own tools of this server stand in the list. */
const shown = (names: readonly string[], server: HttpName): readonly Label[] =>
  LABELS.filter((one) => names.includes(`${server}__own_${one.replace('/', '-')}`));

async function look(model: Model, world: World, seat: Seat): Promise<readonly string[]> {
  const names = (await (await world.agent(seat)).listTools()).tools.map(({ name }) => name);
  for (const server of SERVERS) {
    const may = model.mayKnowOf(seat.label, server);
    const foreign = shown(names, server).filter((one) => !may.has(one));
    if (foreign.length > 0) throw new Error(`${seat.label} is shown tools of ${foreign.join()} at ${server}`);
  }
  return names;
}

const list = step('list', fc.record({ seats }), async (model, world, { seats }) => {
  await Promise.all(seats.map((seat) => look(model, world, seat)));
});

const personal = SERVERS.filter((one) => PRINCIPAL_CATALOGS.includes(one));

/** A tool that is shown to another alone is not there. */
const reach = step(
  'reach',
  fc.record({ seat, whose: label, server: fc.constantFrom(...personal), id }),
  async (model, world, { seat, whose, server, id }) => {
    if (model.mayKnowOf(seat.label, server).has(whose)) return;
    const tool = `${server}__own_${whose.replace('/', '-')}`;
    const args = { by: seat.label, server, question: world.nextQuestion() };
    const outcome = await ask(await world.agent(seat), { id, tool, args });
    if (outcome.kind !== 'not_found') throw new Error(`${seat.label} reached ${tool}: ${JSON.stringify(outcome)}`);
  },
);

export const hearingSteps: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [12, chatAtOnce],
  [8, listen],
  [4, announce],
  [8, list],
  [4, reach],
];
