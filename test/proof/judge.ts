// Compares what happened in one step with what may happen, on both sides of the proxy.
import { isObject, type JsonObject, objectAt } from '../support/upstreams/message.ts';
import type { Outcome } from './asking.ts';
import { type HttpName, type Label, type Model, SERVERS, type ServerName } from './model.ts';
import { type Seat, TOOLS, type Tool, type Upstream, type World } from './world.ts';

export interface Asked {
  readonly tool: Tool;
  readonly seat: Seat;
  readonly server: HttpName;
  /** Travels in the arguments, so that the upstream's side of the call can be found. */
  readonly question: number;
  /** When it was sent. */
  readonly since: number;
  readonly outcome: Outcome;
  /** Also right here, beside what the model allows. */
  readonly excused?: readonly Outcome['kind'][];
}

const MUST_NOT_RUN: ReadonlySet<Outcome['kind']> = new Set(['sign_in_required', 'rate_limited', 'not_found']);

type SeenRequest = Upstream['server']['seen'][number];

/** Throws at the first thing that must not be. */
export function judge(model: Model, world: World, asked: readonly Asked[]): void {
  for (const one of asked) judgeOutcome(model, one);
  judgeStreams(world);
  for (const upstream of new Set(Object.values(world.upstreams))) {
    const names = SERVERS.filter((name) => world.upstreams[name] === upstream);
    judgeUpstream(
      model,
      names,
      upstream,
      asked.filter(({ server }) => names.includes(server)),
    );
  }
}

function judgeUpstream(model: Model, names: readonly HttpName[], upstream: Upstream, asked: readonly Asked[]): void {
  const ran = judgeSeen(model, names, upstream, new Map(asked.map((one) => [one.question, one])));
  for (const one of asked) {
    if (MUST_NOT_RUN.has(one.outcome.kind) && ran.has(one.question))
      throw new Error(`Ran for somebody without a key: ${describe(one)}`);
  }
  for (const tool of TOOLS)
    judgeCount(
      tool,
      upstream,
      asked.filter((one) => one.tool === tool),
    );
  if (upstream.server.counters.crossed > 0) throw new Error('A session was used with the key of another person');
}

function judgeOutcome(model: Model, asked: Asked): void {
  const { seat, server, since, outcome, excused = [] } = asked;
  const allowed = model.allowed(seat.label, server, seat.node, since);
  if (!allowed.has(outcome.kind) && !excused.includes(outcome.kind))
    throw new Error(`${describe(asked)}; allowed: ${[...allowed, ...excused].join(', ')}`);
  if (outcome.kind !== 'named') return;
  if (!outcome.who.split('+').includes(seat.label)) throw new Error(`Somebody else's name: ${describe(asked)}`);
  if (outcome.question !== asked.question) throw new Error(`The answer to another question: ${describe(asked)}`);
  if (outcome.session === '-') return;
  // Of people with equal keys, only the far side's session tells whether they shared a connection.
  const place = `${seat.label}@${server}`;
  const before = model.sessions.get(outcome.session) ?? place;
  if (before !== place) throw new Error(`The session of ${before} was used: ${describe(asked)}`);
  model.sessions.set(outcome.session, place);
}

/** What agents hear while they listen: that lists changed, and nothing else of anybody. */
function judgeStreams(world: World): void {
  for (const [seat, listening] of world.streams) {
    const { stream, subscription } = listening;
    const fresh = stream.events.slice(listening.judged);
    listening.judged = stream.events.length;
    for (const message of fresh.map(({ data }) => JSON.parse(data) as JsonObject)) {
      const { method, params } = message;
      const isOwn = subscription === undefined || subscriptionOf(params) === subscription;
      if (!isOwn || !HEARD.includes(String(method ?? 'goodbye')))
        throw new Error(`${seat} heard ${JSON.stringify(message)}`);
    }
  }
}

const HEARD = ['notifications/tools/list_changed', 'notifications/subscriptions/acknowledged'];

const subscriptionOf = (params: unknown): unknown =>
  isObject(params) ? objectAt(params, '_meta')['io.modelcontextprotocol/subscriptionId'] : undefined;

/** The questions that the upstream took with a key that is good. */
function judgeSeen(
  model: Model,
  names: readonly ServerName[],
  upstream: Upstream,
  asked: ReadonlyMap<unknown, Asked>,
): ReadonlySet<number> {
  const ran = new Set<number>();
  for (const request of upstream.takeSeen()) {
    const key = keyOf(request);
    const given = model.ledger.get(key);
    if (given === undefined) throw new Error(`An upstream saw a key that nobody was given: ${key}`);
    if (!names.includes(given.server)) throw new Error(`The upstream of ${names.join(' and ')} saw ${key}`);
    const { by, server = given.server, question } = argumentsOf(request.body);
    if ((by !== undefined && !given.labels.includes(by as Label)) || server !== given.server)
      throw new Error(`${String(by)} asked ${String(server)}, and went with ${key}`);
    const one = asked.get(question);
    if (one !== undefined) judgeKey(model, one, key);
    if (typeof question === 'number' && request.principal !== undefined) ran.add(question);
  }
  return ran;
}

/** A key that was replaced or removed is not used any more. */
function judgeKey(model: Model, one: Asked, key: string): void {
  const { seat, server, since } = one;
  if (!model.held(seat.label, server).possible(seat.node, since).includes(key))
    throw new Error(`${key} was used after its time: ${describe(one)}`);
}

/** Never twice, never for nothing. */
function judgeCount(tool: Tool, upstream: Upstream, asked: readonly Asked[]): void {
  const ran = upstream.takeExecuted(tool);
  const named = asked.filter(({ outcome }) => outcome.kind === 'named').length;
  const unclear = asked.filter(({ outcome }) => outcome.kind === 'unavailable' || outcome.kind === 'silent').length;
  if (ran < named || ran > named + unclear)
    throw new Error(`${tool} ran ${ran} times for ${named} answers: ${asked.map(describe).join(' / ')}`);
}

const keyOf = ({ headers }: SeenRequest): string => String(headers.authorization).replace(/^Bearer /, '');

const argumentsOf = (body: unknown): JsonObject =>
  isObject(body) ? objectAt(objectAt(body, 'params'), 'arguments') : {};

const describe = ({ seat, server, question, outcome }: Asked): string =>
  `${seat.label} (${seat.kind}, node ${seat.node}) asked ${server} question ${question} and got ${JSON.stringify(outcome)}`;
