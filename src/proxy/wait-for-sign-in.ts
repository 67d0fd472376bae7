// Waits for people to sign in, on whatever node that happens. Every wait is bounded, ends when its agent
// leaves, and when the node stops; a tenant whose people do not come cannot fill the node with waits.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { CredentialBroker } from '../credential/broker.ts';
import { ownerKey, signInOf } from '../credential/credential.ts';
import type { Caller } from '../identity/caller.ts';
import type { LimitsOf } from '../limits/limits-of.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import type { Clock } from '../shared/clock.ts';
import type { TenantId } from '../shared/id.ts';

/** `not_yet`: the time is over, nobody may wait any more, or the wait was ended by `until`. */
export type SignInOutcome = 'signed_in' | 'denied' | 'not_yet';

/** Somebody's credential for a server. */
export interface Sought {
  readonly caller: Caller;
  readonly server: UpstreamServer;
  /** The sign-in (`signInOf`) whose credential the server did not take, perhaps on another node. */
  readonly refused?: string | undefined;
}

export interface WaitedFor extends Sought {
  readonly forMs: number;
  /** Ends the wait before its time. Never rejects. */
  readonly until?: Promise<unknown> | undefined;
  /** Called at once, so that the link can be shown, and each five seconds. */
  readonly onWaiting?: ((step: number) => void) | undefined;
}

export interface SignInWaits {
  /** Rejects with the signal's reason when it fires first. */
  wait(wanted: WaitedFor, signal: AbortSignal): Promise<SignInOutcome>;
  isThere(sought: Sought): Promise<boolean>;
  /** Whether one more call of the tenant may wait. */
  hasRoom(tenantId: TenantId): boolean;
  readonly size: number;
  /** Ends all waits as if their time were over; from then on nobody waits. */
  stop(): void;
}

export interface SignInWaitsDeps {
  readonly broker: Pick<CredentialBroker, 'look' | 'isRefused'>;
  readonly changes: ChangeFeed;
  readonly limitsOf: LimitsOf;
  readonly clock: Clock;
}

interface Waiting {
  readonly serverId: string;
  readonly owner: string;
  look(): void;
  end(outcome: SignInOutcome): void;
}

const PROGRESS_MS = 5_000;

export function createSignInWaits({ broker, changes, limitsOf, clock }: SignInWaitsDeps): SignInWaits {
  const byTenant = new Map<TenantId, Set<Waiting>>();
  let isStopped = false;

  /** From the database: memory may not have heard yet. */
  const look = async ({ caller, server }: Sought, refused: Set<string>): Promise<boolean> => {
    const found = await broker.look(server, caller.principalId);
    if (found?.kind !== 'static') return found !== undefined;
    // A renewal of what is refused makes another version of it, but nobody has signed in.
    if (broker.isRefused(server, found)) refused.add(signInOf(found));
    return !refused.has(signInOf(found));
  };
  const isThere = (sought: Sought): Promise<boolean> => look(sought, refusedIn(sought));

  const each = (job: (waiting: Waiting) => void): void => {
    for (const all of byTenant.values()) for (const one of all) job(one);
  };

  const unsubscribe = changes.subscribe((change) => {
    if (change.kind === 'resync') each((waiting) => waiting.look());
    if (change.kind !== 'credentials' && change.kind !== 'sign_in_denied') return;
    for (const waiting of byTenant.get(change.tenantId) ?? []) {
      if (waiting.serverId !== change.serverId || waiting.owner !== change.owner) continue;
      if (change.kind === 'credentials') waiting.look();
      else waiting.end('denied');
    }
  });

  const hasRoom = (tenantId: TenantId): boolean =>
    !isStopped && (byTenant.get(tenantId)?.size ?? 0) < limitsOf(tenantId).maxWaitingCalls;

  const begin = (
    wanted: WaitedFor,
    signal: AbortSignal,
    resolve: (outcome: SignInOutcome) => void,
    reject: (reason: Error) => void,
  ): void => {
    const { caller, server, forMs, until, onWaiting } = wanted;
    let step = 0;
    const refused = refusedIn(wanted);
    const leave = (): boolean => {
      if (!remove(caller.tenantId, waiting)) return false;
      cancel();
      cancelProgress?.();
      signal.removeEventListener('abort', left);
      return true;
    };
    const left = (): void => {
      if (leave()) reject(signal.reason as Error);
    };
    const waiting: Waiting = {
      serverId: server.id,
      owner: ownerKey({ kind: 'principal', principalId: caller.principalId }),
      look() {
        // A failed look is no answer; the next notice or the end of the wait is.
        look(wanted, refused).then(
          (is) => is && waiting.end('signed_in'),
          () => undefined,
        );
      },
      end(outcome) {
        if (leave()) resolve(outcome);
      },
    };
    const all = byTenant.get(caller.tenantId) ?? new Set();
    byTenant.set(caller.tenantId, all.add(waiting));
    signal.addEventListener('abort', left, { once: true });
    const cancel = clock.after(forMs, () => waiting.end('not_yet'));
    const cancelProgress = onWaiting && clock.every(PROGRESS_MS, () => onWaiting(++step));
    onWaiting?.(++step);
    void until?.then(() => waiting.end('not_yet'));
    // It may have happened between the first look and now.
    waiting.look();
  };

  const remove = (tenantId: TenantId, waiting: Waiting): boolean => {
    const all = byTenant.get(tenantId);
    if (all?.delete(waiting) !== true) return false;
    if (all.size === 0) byTenant.delete(tenantId);
    return true;
  };

  return {
    async wait(wanted, signal) {
      signal.throwIfAborted();
      if (hasRoom(wanted.caller.tenantId))
        return new Promise((resolve, reject) => begin(wanted, signal, resolve, reject));
      return (await isThere(wanted)) ? 'signed_in' : 'not_yet';
    },
    isThere,
    hasRoom,
    get size() {
      let size = 0;
      each(() => size++);
      return size;
    },
    stop() {
      isStopped = true;
      unsubscribe();
      each((waiting) => waiting.end('not_yet'));
    },
  };
}

const refusedIn = ({ refused }: Sought): Set<string> => new Set(refused === undefined ? [] : [refused]);
