// Sessions of the 2025 revisions. A session is no proof of identity: it is bound to the caller and the agent
// that opened it, and for everybody else it does not exist.
import type { Caller } from '../identity/caller.ts';
import type { LimitsOf } from '../limits/limits-of.ts';
import { canShowLinks } from '../proxy/ask-in-stream.ts';
import type { Cancel, Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { randomId, type TenantId } from '../shared/id.ts';
import type { Abortable } from '../shared/light-abort.ts';
import { LATEST_LEGACY } from '../wire/era.ts';
import type { LogLevel } from '../wire/log-level.ts';
import type { JsonObject } from '../wire/reply.ts';
import type { OpenStream } from './listeners.ts';
import { SessionQuestions } from './questions.ts';
import type { McpRoute } from './route.ts';

export interface Session {
  readonly id: string;
  readonly callerKey: string;
  /** Another agent of the same person is another: it may answer no question and end no call of this one's. */
  readonly agentId: string;
  readonly tenantId: TenantId;
  readonly path: string;
  readonly version: string;
  readonly capabilities: JsonObject;
  /** Epoch ms of the last request. */
  usedAt: number;
  /** Higher than that of all sessions that were used before. */
  usedTurn: number;
  /** Requests that can still be cancelled, by the text of their id. */
  inFlight: Map<string, Abortable> | undefined;
  /** How much of servers' logs its agent wants to hear; undefined until it says. */
  logLevel: LogLevel | undefined;
  /** The GET stream, when one is open. */
  stream: OpenStream | undefined;
  /** Defined when this agent can show its person a link: URL elicitation, which came with 2025-11-25. */
  readonly questions: SessionQuestions | undefined;
  /** Links whose sign-in is waited for, to tell the agent when it is done. */
  elicitations: Map<string, Elicitation> | undefined;
}

export interface Elicitation {
  readonly id: string;
  /** Ends the wait. */
  readonly leave: Abortable;
}

const IDLE_MS = 60 * 60_000;
const SWEEP_MS = 60_000;
/** Of one caller; beyond it the one used longest ago ends, so that nobody can fill the node's memory. */
const PER_CALLER = 1_000;
/** What `randomId` gives: anything else needs no look-up. */
const SESSION_ID = /^[A-Za-z0-9_-]{43}$/;

export class Sessions {
  readonly #clock: Clock;
  readonly #limitsOf: LimitsOf;
  readonly #byId = new Map<string, Session>();
  /**
   * Of each caller and of each tenant, each with the turn of its last use when it was put there. To be used moves nothing, as
   * that would cost a call more than finding its session does; it counts when room has to be made.
   */
  readonly #groups = new Map<string, Map<Session, number>>();
  readonly #stopSweep: Cancel;
  #turn = 0;

  constructor(clock: Clock, limitsOf: LimitsOf) {
    this.#clock = clock;
    this.#limitsOf = limitsOf;
    this.#stopSweep = clock.every(SWEEP_MS, () => this.#sweep());
  }

  get size(): number {
    return this.#byId.size;
  }

  open(caller: Caller, route: McpRoute, version: string, capabilities: JsonObject): Session {
    this.#makeRoom(caller.key, PER_CALLER);
    // However many principals its agents name.
    this.#makeRoom(caller.tenantId, this.#limitsOf(caller.tenantId).maxSessions);
    const session: Session = {
      id: randomId(),
      callerKey: caller.key,
      agentId: caller.agentId,
      tenantId: caller.tenantId,
      path: route.path,
      version,
      capabilities,
      usedAt: this.#clock.now(),
      usedTurn: ++this.#turn,
      inFlight: undefined,
      logLevel: undefined,
      stream: undefined,
      questions: version === LATEST_LEGACY && canShowLinks(capabilities) ? new SessionQuestions() : undefined,
      elicitations: undefined,
    };
    this.#byId.set(session.id, session);
    this.#enter(session);
    return session;
  }

  /** Undefined for an id that is unknown, ended, or somebody else's: the three look the same. */
  find(id: string, caller: Caller, route: McpRoute): Session | undefined {
    if (!SESSION_ID.test(id)) return undefined;
    const session = this.#byId.get(id);
    if (session === undefined || session.callerKey !== caller.key || session.agentId !== caller.agentId)
      return undefined;
    if (session.path !== route.path) return undefined;
    session.usedAt = this.#clock.now();
    session.usedTurn = ++this.#turn;
    return session;
  }

  end(session: Session): void {
    if (!this.#byId.delete(session.id)) return;
    this.#leave(session);
    session.stream?.end();
    const reason = new ProxyError('cancelled', 'The session has ended.');
    for (const controller of session.inFlight?.values() ?? []) controller.abort(reason);
    for (const { leave } of session.elicitations?.values() ?? []) leave.abort(reason);
  }

  close(): void {
    this.#stopSweep();
    for (const session of [...this.#byId.values()]) this.end(session);
  }

  #sweep(): void {
    const limit = this.#clock.now() - IDLE_MS;
    for (const session of this.#byId.values()) {
      const isBusy = session.stream !== undefined || (session.inFlight?.size ?? 0) > 0;
      if (!isBusy && session.usedAt < limit) this.end(session);
    }
  }

  #makeRoom(group: string, max: number): void {
    const sessions = this.#groups.get(group);
    while (sessions !== undefined && sessions.size >= max) {
      const [first] = sessions;
      if (first === undefined) return;
      const [session, usedTurn] = first;
      if (session.usedTurn === usedTurn) this.end(session);
      else {
        sessions.delete(session);
        sessions.set(session, session.usedTurn);
      }
    }
  }

  #enter(session: Session): void {
    for (const group of groupsOf(session)) {
      const sessions = this.#groups.get(group);
      if (sessions === undefined) this.#groups.set(group, new Map([[session, session.usedTurn]]));
      else sessions.set(session, session.usedTurn);
    }
  }

  #leave(session: Session): void {
    for (const group of groupsOf(session)) {
      const sessions = this.#groups.get(group);
      sessions?.delete(session);
      if (sessions?.size === 0) this.#groups.delete(group);
    }
  }
}

/** A tenant's id holds no NUL and a caller's key does, so one map serves both. */
const groupsOf = ({ callerKey, tenantId }: Session): readonly [string, string] => [callerKey, tenantId];
