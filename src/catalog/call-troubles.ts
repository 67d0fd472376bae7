// What calls met at the servers: a server that cannot be reached is seen as such by admins and agents until it
// answers again. Each node knows what its own calls met; nothing of whose call it was, or of what it said.
import { withCause } from '../shared/cause-words.ts';
import type { Clock } from '../shared/clock.ts';
import { CredentialRefusedError, EgressDeniedError, NotRunError, ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Registry } from './registry.ts';
import { createServerNotes } from './server-notes.ts';
import type { LastError } from './server-status.ts';
import { createSignInTroubles, type SignInTroubles } from './sign-in-troubles.ts';
import type { UpstreamServer } from './upstream-server.ts';

export interface CallTrouble {
  /** Safe to show to agents. Undefined once it has answered again, or while it may only have been slow. */
  readonly downReason: string | undefined;
  readonly last: LastError;
}

export interface CallTroubles {
  /** A call did not come to its end because of the server. Everything else is left out. */
  failed(server: UpstreamServer, error: unknown): void;
  /** It answered. With each call, so it costs next to nothing. */
  readonly worked: (server: UpstreamServer) => void;
  troubleOf(server: UpstreamServer): CallTrouble | undefined;
  /** Of sign-ins that could not begin. */
  readonly signIn: SignInTroubles;
  /** Grows whenever one of the tenant's servers goes down or comes back. */
  version(tenantId: TenantId): number;
}

export interface CallTroublesDeps {
  readonly registry: Pick<Registry, 'known' | 'onChange'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Has the server asked until it answers, where that can be done without a person. */
  readonly doubt: (server: UpstreamServer) => void;
}

interface Entry extends CallTrouble {
  /** Since the last good answer. */
  readonly failures: number;
  /** When a line was last written; epoch ms. */
  readonly saidAt: number;
  /** The log says that it fails, and not yet that it answers again. */
  readonly isSaid: boolean;
}

/** A storm of failures is one line for each server. */
const QUIET_MS = 60_000;
/** One slow call may be the tool's own matter. */
const TIMEOUTS_IN_A_ROW = 2;

export function createCallTroubles({ registry, clock, logger, doubt }: CallTroublesDeps): CallTroubles {
  const versions = new Map<TenantId, number>();
  /** Servers that a good answer changes something for; nearly always none. */
  let failing = 0;
  const notes = createServerNotes<Entry>(registry, (tenantId, before, entry) => {
    failing += Number((entry?.failures ?? 0) > 0) - Number((before?.failures ?? 0) > 0);
    if (before?.downReason !== entry?.downReason) versions.set(tenantId, (versions.get(tenantId) ?? 0) + 1);
  });

  return {
    failed(server, error) {
      const failure = failureOf(server, error);
      if (failure === undefined || !notes.isRegistered(server)) return;
      const { tenantId, name } = server;
      const before = notes.find(server);
      const at = clock.now();
      // A refused key is a matter of its owner: the server is there.
      const isRefusal = error instanceof CredentialRefusedError;
      const failures = (before?.failures ?? 0) + Number(!isRefusal);
      const isDown = failure.isDown || (failure.isSlow && failures >= TIMEOUTS_IN_A_ROW);
      const isDue = before === undefined || at - before.saidAt >= QUIET_MS;
      notes.keep(server, {
        failures,
        downReason: isDown ? failure.sentence : failure.isSlow ? before?.downReason : undefined,
        last: { sentence: failure.sentence, text: withCause(failure.sentence, error), at },
        saidAt: isDue ? at : before.saidAt,
        isSaid: (isDue && !isRefusal) || before?.isSaid === true,
      });
      if (isDue) logger.warn({ tenantId, server: name, failures, error: describeError(error) }, 'call failed');
      // A tool that fails each time must not have the list read each time.
      if (error instanceof NotRunError || (isDown && isDue)) doubt(server);
    },

    worked(server) {
      if (failing === 0) return;
      const entry = notes.find(server);
      if (entry === undefined || entry.failures === 0) return;
      const { tenantId, name } = server;
      notes.keep(server, { ...entry, failures: 0, downReason: undefined, isSaid: false });
      if (entry.isSaid) logger.info({ tenantId, server: name, failures: entry.failures }, 'server answers again');
    },

    signIn: createSignInTroubles(registry, clock),
    troubleOf: (server) => notes.find(server),
    version: (tenantId) => versions.get(tenantId) ?? 0,
  };
}

interface Failure {
  /** In words of ours: what a server wrote for one person is not for the others of the tenant. */
  readonly sentence: string;
  readonly isDown: boolean;
  readonly isSlow: boolean;
}

/** Undefined for what says nothing about the server. */
function failureOf({ transport }: UpstreamServer, error: unknown): Failure | undefined {
  if (!(error instanceof ProxyError)) return undefined;
  const down = (sentence: string): Failure => ({ sentence, isDown: true, isSlow: false });
  if (error instanceof CredentialRefusedError)
    return { sentence: `The server refused a credential (HTTP status ${error.status}).`, isDown: false, isSlow: false };
  if (error instanceof EgressDeniedError) return down(error.message);
  // Over HTTP what must not be tried again at once was turned away by a server that is there.
  if (error instanceof NotRunError)
    return { ...down(error.message), isDown: error.mayRetryNow || transport.kind === 'stdio' };
  const status = error.data?.['status'];
  switch (error.code) {
    case 'upstream_unavailable':
      return down(
        typeof status === 'number'
          ? `The server answered with HTTP status ${status}.`
          : 'The connection to the server broke.',
      );
    case 'upstream_timeout':
      return { sentence: 'The server did not answer in time.', isDown: false, isSlow: true };
    case 'upstream_protocol':
      return { sentence: 'The server gave no usable answer.', isDown: false, isSlow: false };
    default:
      return undefined;
  }
}
