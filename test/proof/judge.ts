// Compares what happened in one step with what may happen, on both sides of the proxy.
import { isObject, type JsonObject, objectAt } from '../support/upstreams/message.ts';
import type { Outcome } from './asking.ts';
import { type Model, SERVERS, type ServerName } from './model.ts';
import { type Seat, TOOLS, type Tool, type Upstream, type World } from './world.ts';

export interface Asked {
  readonly tool: Tool;
  readonly seat: Seat;
  readonly server: ServerName;
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

function judgeUpstream(model: Model, names: readonly ServerName[], upstream: Upstream, asked: readonly Asked[]): void {
  const ran = judgeSeen(model, names, upstream);
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
  if (outcome.kind === 'named' && outcome.who !== seat.label)
    throw new Error(`Somebody else's name: ${describe(asked)}`);
}

/** The questions that the upstream took with a key that is good. */
function judgeSeen(model: Model, names: readonly ServerName[], upstream: Upstream): ReadonlySet<number> {
  const ran = new Set<number>();
  for (const request of upstream.takeSeen()) {
    const key = keyOf(request);
    const given = model.ledger.get(key);
    if (given === undefined) throw new Error(`An upstream saw a key that nobody was given: ${key}`);
    if (!names.includes(given.server)) throw new Error(`The upstream of ${names.join(' and ')} saw ${key}`);
    const { by = given.label, server = given.server, question } = argumentsOf(request.body);
    if (by !== given.label || server !== given.server)
      throw new Error(`${String(by)} asked ${String(server)}, and went with ${key}`);
    if (typeof question === 'number' && request.principal !== undefined) ran.add(question);
  }
  return ran;
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
