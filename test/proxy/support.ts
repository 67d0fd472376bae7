// A real pool over scripted connections, and a broker that says what the test says.

import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { Connection, UpstreamRequest } from '../../src/connection/connection.ts';
import { Pool } from '../../src/connection/pool.ts';
import type { CredentialBroker } from '../../src/credential/broker.ts';
import type { Credential } from '../../src/credential/credential.ts';
import type { Caller } from '../../src/identity/caller.ts';
import { callerKey } from '../../src/identity/caller.ts';
import { type Call } from '../../src/proxy/operations.ts';
import { createWithUpstream, type WithUpstream } from '../../src/proxy/with-upstream.ts';
import { ProxyError, SignInRequiredError } from '../../src/shared/errors.ts';
import { createLogger } from '../../src/shared/logger.ts';
import type { Era } from '../../src/wire/era.ts';
import { type JsonObject, Reply } from '../../src/wire/reply.ts';
import { keyOf } from '../connection/support.ts';
import { aPrincipal, aServer } from '../credential/in-memory.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { someLimits } from '../support/limits.ts';

export type Outcome = Reply | Error | ((request: UpstreamRequest) => Promise<Reply>);

export const OK = Reply.of(1, { result: { content: [] } });
export const NEVER = new AbortController().signal;
export const ANNA = aPrincipal('anna');
export const server = aServer();

export class ScriptedConnection implements Connection {
  readonly era: Era;
  readonly credential: Credential;
  readonly capabilities: JsonObject;
  readonly requests: UpstreamRequest[] = [];
  readonly listeners = new Set<(method: string) => void>();
  isClosed = false;
  readonly #next: () => Outcome;
  readonly #jobs: (() => void)[] = [];

  constructor(
    credential: Credential,
    next: () => Outcome,
    era: Era = 'legacy',
    capabilities: JsonObject = { tools: {} },
  ) {
    [this.credential, this.#next, this.era, this.capabilities] = [credential, next, era, capabilities];
  }

  request(request: UpstreamRequest): Promise<Reply> {
    this.requests.push(request);
    const outcome = this.#next();
    if (typeof outcome === 'function') return outcome(request);
    return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
  }

  listen(listener: (method: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  say(method: string): void {
    for (const listener of this.listeners) listener(method);
  }

  /** How many want to hear of its end. */
  get closers(): number {
    return this.#jobs.length;
  }

  onClose(job: () => void): void {
    this.#jobs.push(job);
  }

  close(): Promise<void> {
    this.isClosed = true;
    for (const job of this.#jobs.splice(0)) job();
    return Promise.resolve();
  }
}

/** A connection that gives these outcomes, the last one for ever. */
export function aConnection(
  outcomes: readonly Outcome[] = [OK],
  era: Era = 'legacy',
  capabilities: JsonObject = { tools: {} },
): ScriptedConnection {
  let at = 0;
  return new ScriptedConnection(
    { kind: 'none' },
    () => outcomes[Math.min(at++, outcomes.length - 1)] ?? OK,
    era,
    capabilities,
  );
}

export class Upstream {
  readonly clock = new FakeClock();
  readonly connections: ScriptedConnection[] = [];
  readonly pool: Pool;
  readonly withUpstream: WithUpstream;
  readonly broker: CredentialBroker;
  /** What happens to each request in turn, over whatever connection; then all is well. */
  outcomes: Outcome[] = [];
  dialFailures: Error[] = [];
  capabilities: JsonObject = { tools: {} };
  era: Era = 'legacy';
  credential: Credential | undefined = keyOf('anna', '1');
  /** What the database has, where memory does not know it yet. */
  stored: Credential | undefined;
  asked = 0;

  constructor() {
    this.pool = new Pool({
      dial: (_server, credential) => {
        const failure = this.dialFailures.shift();
        if (failure !== undefined) return Promise.reject(failure);
        const connection = new ScriptedConnection(
          credential,
          () => this.outcomes.shift() ?? OK,
          this.era,
          this.capabilities,
        );
        this.connections.push(connection);
        return Promise.resolve(connection);
      },
      clock: this.clock,
      logger: createLogger('silent'),
      limitsOf: () => someLimits({ maxConnections: 100 }),
    });
    this.broker = {
      find: () => this.credential,
      look: () => Promise.resolve(this.stored ?? this.credential),
      afterRefusal: (_server, refused) => {
        const newer = this.stored ?? this.credential;
        return Promise.resolve(
          newer?.kind === 'static' && refused.kind === 'static' && newer.version !== refused.version
            ? newer
            : undefined,
        );
      },
      askSignIn: () => Promise.resolve(this.#signIn()),
      refused: () => undefined,
      taken: () => undefined,
      refusalOf: () => undefined,
      isRefused: () => false,
      scopesOf: () => undefined,
    };
    this.withUpstream = createWithUpstream({
      broker: this.broker,
      pool: this.pool,
      askForCredential: () => Promise.resolve(this.#signIn()),
    });
  }

  #signIn(): ProxyError {
    this.asked++;
    return new SignInRequiredError('notes', 'http://127.0.0.1/connect/x', this.clock.now() + 600_000);
  }

  get requests(): readonly UpstreamRequest[] {
    return this.connections.flatMap(({ requests }) => requests);
  }

  call(signal: AbortSignal = NEVER, of: UpstreamServer = server): Promise<Reply> {
    return this.withUpstream(of, ANNA, signal, ({ connection }) =>
      connection.request({ method: 'tools/call', params: {}, signal }),
    );
  }
}

export function aCaller(principal = 'anna'): Caller {
  const [tenantId, principalId] = [server.tenantId, aPrincipal(principal)];
  return { tenantId, principalId, agentId: 'k', scopes: new Set(), key: callerKey(tenantId, principalId) };
}

export class Heard {
  readonly messages: string[] = [];
  flushes = 0;
  /** How often it was told that the call is still open. */
  signs = 0;

  stillHere(): void {
    this.signs++;
  }

  message(raw: string): void {
    this.messages.push(raw);
  }

  flush(): undefined {
    this.flushes++;
  }

  progress(): void {
    // Nothing to hear.
  }
}

export function aCall(
  params: JsonObject = {},
  rest: Partial<Call> = {},
): { call: Call; signal: AbortSignal; heard: Heard } {
  const controller = new AbortController();
  const heard = new Heard();
  const call: Call = {
    scope: { only: undefined },
    name: 'notes__search',
    params,
    era: 'legacy',
    capabilities: {},
    progressToken: undefined,
    logLevel: undefined,
    hearing: heard,
    questions: undefined,
    abort: (reason) => controller.abort(reason),
    ...rest,
  };
  return { call, signal: controller.signal, heard };
}

export const settled = (): Promise<void> => new Promise(setImmediate);
