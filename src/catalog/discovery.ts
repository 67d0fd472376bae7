// Finds out what servers offer, each on its own: one that is down holds up nobody and is asked again
// with growing, jittered pauses of at most a minute.
import { setMaxListeners } from 'node:events';
import { Gates } from '../limits/gates.ts';
import { withCause } from '../shared/cause-words.ts';
import type { Cancel, Clock } from '../shared/clock.ts';
import { toProxyError } from '../shared/errors.ts';
import type { PrincipalId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { isInvalid, type Registry } from './registry.ts';
import type { LastError } from './server-status.ts';
import type { ToolSource } from './tool-source.ts';
import { needsPerson, type UpstreamServer } from './upstream-server.ts';

export interface Trouble {
  readonly state: 'pending' | 'unavailable' | 'sign_in_required';
  /** Safe to show to agents. */
  readonly reason: string;
  /** Of a failure: the same for admins. */
  readonly last?: LastError;
}

export interface Discovery {
  /**
   * Asks the server for its tools unless that is under way or a pause after a failure lasts. Settles
   * when it was tried; never rejects. `owner` says whose list it becomes: '' for all of the tenant.
   */
  ensure(server: UpstreamServer, owner: string, principalId: PrincipalId | undefined): Promise<void>;
  /** Asks now, whatever happened before; for list_changed and a new sign-in. Rejects with what went wrong. */
  renew(server: UpstreamServer, owner: string, principalId: PrincipalId | undefined): Promise<void>;
  /** A call found the server unreachable: where no person is needed it is asked until it answers, and its state says so. */
  doubt(server: UpstreamServer): Promise<void>;
  troubleOf(server: UpstreamServer, owner: string): Trouble | undefined;
  /** Waiting for it would be in vain: it failed and is retried by itself, or it has had `ms` to answer. */
  isLate(server: UpstreamServer, owner: string, ms: number): boolean;
  /** Grows whenever a trouble of the tenant's servers comes or goes. */
  version(tenantId: TenantId): number;
  close(): void;
}

export interface DiscoveryDeps {
  readonly source: ToolSource;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
  /** 0 ≤ x < 1; spreads the tries of many nodes. */
  readonly random: () => number;
}

interface Try {
  failures: number;
  nextTryAt: number;
  trouble: Trouble | undefined;
  cancel: Cancel | undefined;
}

/** Of one tenant, so that nobody waits for another tenant's servers. */
const AT_ONCE = 16;
/** Tries of one tenant that wait for their turn; what is beyond is asked when somebody lists again. */
const LONGEST_LINE = 2_000;
/** After this long a try counts no more among those: slow servers must not hold up the others. */
const SLOW_MS = 1_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

export function createDiscovery({ source, registry, clock, logger, random }: DiscoveryDeps): Discovery {
  const tries = new Map<string, Try>();
  const versions = new Map<TenantId, number>();
  const running = new SingleFlight<void>();
  /** When the try that is running was begun. */
  const begun = new Map<string, number>();
  /** To be asked once more behind the try that is running, on whose behalf. */
  const again = new Map<string, PrincipalId | undefined>();
  const gates = new Gates({ places: AT_ONCE, longestLine: LONGEST_LINE });
  const root = new AbortController();
  // Each try that runs listens to it; there may be many.
  setMaxListeners(0, root.signal);

  const keyOf = (server: UpstreamServer, owner: string): string =>
    `${server.tenantId}\u0000${server.id}\u0000${server.revision}\u0000${owner}`;

  /** False once it was removed or edited while it was being asked: then nobody retries it. */
  const isRegistered = ({ tenantId, name, id, revision }: UpstreamServer): boolean => {
    const known = registry.known(tenantId)?.byName.get(name)?.server;
    return known?.id === id && known.revision === revision;
  };

  const settle = (server: UpstreamServer, key: string, next: Try): void => {
    const before = tries.get(key)?.trouble;
    tries.get(key)?.cancel?.();
    if (next.trouble === undefined) tries.delete(key);
    else tries.set(key, next);
    if (before?.reason !== next.trouble?.reason)
      versions.set(server.tenantId, (versions.get(server.tenantId) ?? 0) + 1);
  };

  const failed = (
    server: UpstreamServer,
    owner: string,
    principalId: PrincipalId | undefined,
    failures: number,
    error: unknown,
  ): void => {
    const key = keyOf(server, owner);
    if (!isRegistered(server)) return;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10)) * (0.5 + random() / 2);
    const known = toProxyError(error);
    const state =
      known.code === 'sign_in_required' || known.code === 'credential_refused' ? 'sign_in_required' : 'unavailable';
    // A server that waits for its person is not down, and asking it again would change nothing.
    const retries = !needsPerson(server) && !root.signal.aborted;
    // Not through `ensure`: a timer may fire a moment before the pause is over by the clock.
    const reason = reasonOf(known.code, known.message);
    const retry = (): void => void ask(server, owner, principalId).catch(() => undefined);
    settle(server, key, {
      failures,
      nextTryAt: clock.now() + pause,
      trouble: {
        state: needsPerson(server) ? state : 'unavailable',
        reason,
        last: { sentence: reason, text: withCause(reason, error), at: clock.now() },
      },
      cancel: retries ? clock.after(pause, retry) : undefined,
    });
    const fields = { tenantId: server.tenantId, server: server.name, failures, error: describeError(error) };
    if (failures === 1) logger.warn(fields, 'tools not found');
    else logger.debug(fields, 'tools not found');
  };

  const tryOnce = async (
    server: UpstreamServer,
    owner: string,
    principalId: PrincipalId | undefined,
  ): Promise<void> => {
    const key = keyOf(server, owner);
    const failures = tries.get(key)?.failures ?? 0;
    begun.set(key, clock.now());
    try {
      const listed = await source(server, principalId, root.signal);
      // First the trouble goes, then the list is announced: whoever hears of it sees no trouble any more.
      settle(server, key, { failures: 0, nextTryAt: 0, trouble: undefined, cancel: undefined });
      await registry.keepList(server, owner, listed);
    } catch (error) {
      failed(server, owner, principalId, failures + 1, error);
      throw error;
    } finally {
      begun.delete(key);
    }
  };

  const ask = (server: UpstreamServer, owner: string, principalId: PrincipalId | undefined): Promise<void> => {
    const key = keyOf(server, owner);
    return running.run(key, () =>
      inLine(server.tenantId, async () => {
        for (let onBehalfOf = principalId; ; onBehalfOf = again.get(key)) {
          again.delete(key);
          try {
            await tryOnce(server, owner, onBehalfOf);
          } catch (error) {
            if (!again.has(key)) throw error;
          }
          if (!again.has(key)) return;
        }
      }),
    );
  };

  /** Waits for a place among the tenant's tries, and keeps it until the work is done or shows to be slow. */
  const inLine = async (tenantId: TenantId, work: () => Promise<void>): Promise<void> => {
    let done: Promise<void> | undefined;
    await gates.run(tenantId, () => {
      const started = (done = work());
      return new Promise<void>((resolve) => {
        const cancel = clock.after(SLOW_MS, resolve);
        started
          .catch(() => undefined)
          .finally(() => {
            cancel();
            resolve();
          });
      });
    });
    await done;
  };

  const ensure = async (server: UpstreamServer, owner: string, principalId: PrincipalId | undefined): Promise<void> => {
    const last = tries.get(keyOf(server, owner));
    if (
      root.signal.aborted ||
      (last !== undefined && last.nextTryAt > clock.now() && !running.has(keyOf(server, owner)))
    )
      return;
    await ask(server, owner, principalId).catch(() => undefined);
  };

  const unsubscribe = registry.onChange((_tenantId, now, before) => {
    for (const { server } of before?.byName.values() ?? []) {
      if (isInvalid(server) || now.byName.get(server.name)?.server.revision === server.revision) continue;
      for (const [key, { cancel }] of tries) {
        if (!key.startsWith(keyOf(server, ''))) continue;
        cancel?.();
        tries.delete(key);
      }
    }
    for (const { server, lists } of now.byName.values()) {
      if (!isInvalid(server) && server.enabled && !isPersonal(server) && !lists.has(''))
        void ensure(server, '', undefined);
    }
  });

  return {
    ensure,
    renew(server, owner, principalId) {
      const key = keyOf(server, owner);
      // What is being read now may be older than the change: read once more behind it.
      if (running.has(key)) again.set(key, principalId);
      return ask(server, owner, principalId);
    },
    doubt: async (server) => {
      if (!isPersonal(server)) await ensure(server, '', undefined);
    },
    troubleOf(server, owner) {
      const key = keyOf(server, owner);
      const trouble = tries.get(key)?.trouble;
      if (trouble !== undefined) return trouble;
      return running.has(key) ? { state: 'pending', reason: 'It has not answered yet.' } : undefined;
    },
    isLate(server, owner, ms) {
      const key = keyOf(server, owner);
      return tries.get(key)?.cancel !== undefined || clock.now() - (begun.get(key) ?? Infinity) >= ms;
    },
    version: (tenantId) => versions.get(tenantId) ?? 0,
    close() {
      unsubscribe();
      root.abort(new Error('stopping'));
      for (const { cancel } of tries.values()) cancel?.();
    },
  };
}

/** Only a person can open it; nobody asks it on the tenant's behalf. */
const isPersonal = (server: UpstreamServer): boolean => server.credential?.owner === 'principal';

function reasonOf(code: string, message: string): string {
  if (code === 'internal') return 'It could not be asked for its tools.';
  if (code === 'credential_refused') return 'It refused the credential.';
  return message;
}
