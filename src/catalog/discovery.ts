// Finds out what servers offer, each on its own: one that is down holds up nobody and is asked again
// with growing, jittered pauses of at most a minute.
import type { Cancel, Clock } from '../shared/clock.ts';
import { toProxyError } from '../shared/errors.ts';
import { Gate } from '../shared/gate.ts';
import type { PrincipalId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { isInvalid, type Registry } from './registry.ts';
import type { ToolSource } from './tool-source.ts';
import { needsPerson, type UpstreamServer } from './upstream-server.ts';

export interface Trouble {
  readonly state: 'pending' | 'unavailable' | 'sign_in_required';
  /** Safe to show to agents. */
  readonly reason: string;
}

export interface Discovery {
  /**
   * Asks the server for its tools unless that is under way or a pause after a failure lasts. Settles
   * when it was tried; never rejects. `owner` says whose list it becomes: '' for all of the tenant.
   */
  ensure(server: UpstreamServer, owner: string, principalId: PrincipalId | undefined): Promise<void>;
  /** Asks now, whatever happened before; for list_changed and a new sign-in. Rejects with what went wrong. */
  renew(server: UpstreamServer, owner: string, principalId: PrincipalId | undefined): Promise<void>;
  troubleOf(server: UpstreamServer, owner: string): Trouble | undefined;
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

const AT_ONCE = 16;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

export function createDiscovery({ source, registry, clock, logger, random }: DiscoveryDeps): Discovery {
  const tries = new Map<string, Try>();
  const versions = new Map<TenantId, number>();
  const running = new SingleFlight<void>();
  const again = new Set<string>();
  const gate = new Gate(AT_ONCE);
  const root = new AbortController();

  const keyOf = (server: UpstreamServer, owner: string): string => `${server.tenantId}\u0000${server.id}\u0000${server.revision}\u0000${owner}`;

  const settle = (server: UpstreamServer, key: string, next: Try): void => {
    const before = tries.get(key)?.trouble;
    tries.get(key)?.cancel?.();
    if (next.trouble === undefined) tries.delete(key);
    else tries.set(key, next);
    if (before?.reason !== next.trouble?.reason) versions.set(server.tenantId, (versions.get(server.tenantId) ?? 0) + 1);
  };

  const failed = (server: UpstreamServer, owner: string, principalId: PrincipalId | undefined, error: unknown): void => {
    const key = keyOf(server, owner);
    const failures = (tries.get(key)?.failures ?? 0) + 1;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10)) * (0.5 + random() / 2);
    const known = toProxyError(error);
    const state = known.code === 'sign_in_required' || known.code === 'credential_refused' ? 'sign_in_required' : 'unavailable';
    // A server that waits for its person is not down, and asking it again would change nothing.
    const retries = !needsPerson(server) && !root.signal.aborted;
    const retry = (): void => void ensure(server, owner, principalId);
    settle(server, key, {
      failures,
      nextTryAt: clock.now() + pause,
      trouble: { state: needsPerson(server) ? state : 'unavailable', reason: reasonOf(known.code, known.message) },
      cancel: retries ? clock.after(pause, retry) : undefined,
    });
    const fields = { tenantId: server.tenantId, server: server.name, failures, error: describeError(error) };
    if (failures === 1) logger.warn(fields, 'tools not found');
    else logger.debug(fields, 'tools not found');
  };

  const ask = (server: UpstreamServer, owner: string, principalId: PrincipalId | undefined): Promise<void> => {
    const key = keyOf(server, owner);
    return running.run(key, () =>
      gate.run(async () => {
        do {
          again.delete(key);
          try {
            const listed = await source(server, principalId, root.signal);
            await registry.keepList(server, owner, listed);
            settle(server, key, { failures: 0, nextTryAt: 0, trouble: undefined, cancel: undefined });
          } catch (error) {
            failed(server, owner, principalId, error);
            throw error;
          }
        } while (again.has(key));
      }),
    );
  };

  const ensure = async (server: UpstreamServer, owner: string, principalId: PrincipalId | undefined): Promise<void> => {
    const last = tries.get(keyOf(server, owner));
    if (root.signal.aborted || (last !== undefined && last.nextTryAt > clock.now() && !running.has(keyOf(server, owner)))) return;
    await ask(server, owner, principalId).catch(() => undefined);
  };

  const unsubscribe = registry.onChange((_tenantId, now, before) => {
    for (const { server, lists } of before?.byName.values() ?? []) {
      if (isInvalid(server) || now.byName.get(server.name)?.server.revision === server.revision) continue;
      for (const owner of ['', ...lists.keys()]) {
        const key = keyOf(server, owner);
        tries.get(key)?.cancel?.();
        tries.delete(key);
      }
    }
    for (const { server, lists } of now.byName.values()) {
      if (!isInvalid(server) && server.enabled && !isPersonal(server) && !lists.has('')) void ensure(server, '', undefined);
    }
  });

  return {
    ensure,
    renew(server, owner, principalId) {
      const key = keyOf(server, owner);
      // What is being read now may be older than the change: read once more behind it.
      if (running.has(key)) again.add(key);
      return ask(server, owner, principalId);
    },
    troubleOf(server, owner) {
      const key = keyOf(server, owner);
      const trouble = tries.get(key)?.trouble;
      if (trouble !== undefined) return trouble;
      return running.has(key) ? { state: 'pending', reason: 'It has not answered yet.' } : undefined;
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
