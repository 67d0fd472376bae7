// Renews a grant once, however many calls wait for it, on however many nodes: a lease on the grant, a
// look whether it was renewed meanwhile, the request outside of any transaction, the new version written,
// then used. The work belongs to the grant, not to the call that asked for it first (T10).
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Change } from '../shared/changes.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { randomId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { OAuthRefusal, OAuthUnavailable } from './authorization-server.ts';
import type { Clients } from './clients.ts';
import { type Owner, ownerKey } from './credential.ts';
import { credentialKey } from './credential-store.ts';
import type { Grant } from './grant.ts';
import type { GrantKeeper } from './keep-grant.ts';
import type { KeptCredentials, Opened } from './kept-credentials.ts';
import { isOfOurOwn, type ObtainTokens } from './obtain-tokens.ts';
import { afterFailure, FRESH } from './renewal-failure.ts';
import type { GrantKey, Lease, RenewalState, RenewalStore } from './renewal-store.ts';

export type Renewed =
  /** A version newer than the outdated one. */
  | { readonly kind: 'renewed'; readonly opened: Opened }
  /** Only a new sign-in helps, or an admin where nobody signs in. */
  | { readonly kind: 'over' }
  /** Nothing is known about the grant, which is kept. */
  | { readonly kind: 'later'; readonly retryAfterMs: number; readonly reason: string };

export interface Renewer {
  /**
   * `outdated` is what the caller holds: undefined where there is none yet. `refused`: the server did not
   * take it, so its age says nothing. `signal` ends this caller's wait only.
   */
  renew(
    server: UpstreamServer,
    owner: Owner,
    outdated: Opened | undefined,
    because: 'due' | 'refused',
    signal?: AbortSignal,
  ): Promise<Renewed>;
  /** Waits for renewals under way, which bound themselves. */
  close(): Promise<void>;
}

export interface RenewerDeps {
  readonly kept: Pick<KeptCredentials, 'load'>;
  readonly renewals: RenewalStore;
  readonly keeper: GrantKeeper;
  readonly obtain: ObtainTokens;
  readonly clients: Pick<Clients, 'forget' | 'known'>;
  /** Ends tokens that nobody will use. */
  readonly discard: (server: UpstreamServer, grant: Grant) => void;
  readonly announce: (change: Change) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** All of one renewal at the authorization server; each request is bounded more tightly. */
const REQUEST_MS = 22_000;
/** Longer than a renewal with its writing lasts; a node that died holds a grant up for so long. */
const LEASE_MS = 30_000;
const WAIT_MS = 45_000;
const LOOK_MS = 250;
/** However often a server says 401: its word alone renews a grant once in this time. */
const BETWEEN_MS = 30_000;
const WRITE_PAUSES_MS = [100, 500, 2_000];

export function createRenewer(deps: RenewerDeps): Renewer {
  const { kept, renewals, keeper, obtain, clients, discard, announce, clock, logger } = deps;
  const flights = new SingleFlight<Renewed>();
  const running = new Set<Promise<unknown>>();

  const renewOnce = async (
    server: UpstreamServer,
    owner: Owner,
    outdated: Opened | undefined,
    because: 'due' | 'refused',
  ): Promise<Renewed> => {
    const key: GrantKey = { tenantId: server.tenantId, serverId: server.id, owner: ownerKey(owner) };
    const holder = randomId(12);
    const endsAt = clock.now() + WAIT_MS;
    for (;;) {
      const now = clock.now();
      const lease = await renewals.acquire(key, holder, now, now + LEASE_MS);
      if (lease !== undefined) return await underLease({ server, owner, key, holder, lease, outdated, because });
      // Somebody else renews it; theirs is as good.
      const theirs = newer(server, (await kept.load(server, key.owner)).opened, outdated);
      if (theirs !== undefined) return { kind: 'renewed', opened: theirs };
      if (now > endsAt) return { kind: 'later', retryAfterMs: 1_000, reason: 'its credential is being renewed' };
      await clock.sleep(LOOK_MS);
    }
  };

  const underLease = async (job: Job): Promise<Renewed> => {
    const { server, key, holder, lease, outdated, because } = job;
    let result: RenewalState & { readonly renewedAt: number | undefined } = { ...lease.state, renewedAt: undefined };
    try {
      const { opened } = await kept.load(server, key.owner);
      const theirs = newer(server, opened, outdated);
      if (theirs !== undefined) return { kind: 'renewed', opened: theirs };
      // Removed meanwhile: nothing of it may come back by a renewal.
      if (opened?.version !== outdated?.version) return { kind: 'over' };
      const state = lease.state.version === outdated?.version ? lease.state : { ...FRESH, version: outdated?.version };
      const justRenewed = lease.renewedAt !== undefined && clock.now() - lease.renewedAt < BETWEEN_MS;
      if (state.spent || (because === 'refused' && justRenewed)) return { kind: 'over' };
      if (state.retryAt !== undefined && state.retryAt > clock.now())
        return {
          kind: 'later',
          retryAfterMs: state.retryAt - clock.now(),
          reason: 'its sign-in server did not answer',
        };
      const tried = await tryNow(job, state);
      result = { renewedAt: undefined, ...tried.state };
      return tried.renewed;
    } finally {
      await renewals
        .release(key, holder, clock.now(), result)
        // The lease runs out by itself.
        .catch((error: unknown) => logger.warn({ error: describeError(error) }, 'lease on a grant not given back'));
    }
  };

  const tryNow = async (job: Job, state: RenewalState): Promise<Tried> => {
    const { server, owner, outdated } = job;
    const grant = outdated?.content.kind === 'grant' ? outdated.content.grant : undefined;
    const late = new AbortController();
    const cancel = clock.after(REQUEST_MS, () =>
      late.abort(new OAuthUnavailable('the sign-in server did not answer in time')),
    );
    try {
      const next = await obtain(server, owner, grant, late.signal);
      if (next === undefined) return { renewed: { kind: 'over' }, state };
      const renewed = await write(job, next);
      logger.info({ tenantId: server.tenantId, server: server.name, because: job.because }, 'grant renewed');
      const version = renewed.kind === 'renewed' ? renewed.opened.version : undefined;
      return { renewed, state: { ...FRESH, version, renewedAt: clock.now() } };
    } catch (error) {
      const isUnknownClient = error instanceof OAuthRefusal && error.code === 'invalid_client';
      const clientIsGone = isUnknownClient && grant !== undefined && (await isForgotten(server, grant));
      const verdict = afterFailure(error, state, clock.now(), { canEnd: !isOfOurOwn(server), clientIsGone });
      if (verdict === undefined) throw error;
      logger.warn({ tenantId: server.tenantId, server: server.name, why: verdict.why }, 'grant not renewed');
      // Once more: what was refused may have been replaced while we asked, and then it says nothing.
      const theirs = newer(server, (await kept.load(server, job.key.owner)).opened, outdated);
      if (theirs !== undefined)
        return { renewed: { kind: 'renewed', opened: theirs }, state: { ...FRESH, version: theirs.version } };
      return verdict;
    } finally {
      cancel();
    }
  };

  /** Of many whose grants were given to one registration, the first finds it there to be forgotten (B207). */
  const isForgotten = async (server: UpstreamServer, { place, clientId }: Grant): Promise<boolean> =>
    (await clients.forget(server, place.issuer, clientId)) ||
    (await clients.known(server, place, clientId)) === undefined;

  /** The old refresh token may be spent by now, so a database that is away for a moment is waited for. */
  const write = async ({ server, owner, key, outdated }: Job, grant: Grant): Promise<Renewed> => {
    const binding = outdated?.binding ?? bindingOf(server);
    for (let attempt = 0; ; attempt++) {
      try {
        const written = await keeper.renew(server, owner, binding, grant, outdated?.version, clock.now());
        announce({ kind: 'credentials', ...key });
        if (written !== undefined)
          return { kind: 'renewed', opened: { version: written.version, binding, content: { kind: 'grant', grant } } };
        // Signed in anew, or removed, while we asked: that is what counts, and ours is dropped.
        discard(server, grant);
        const theirs = newer(server, (await kept.load(server, key.owner)).opened, outdated);
        return theirs === undefined ? { kind: 'over' } : { kind: 'renewed', opened: theirs };
      } catch (error) {
        const pause = WRITE_PAUSES_MS[attempt];
        if (pause === undefined) throw error;
        await clock.sleep(pause);
      }
    }
  };

  return {
    renew(server, owner, outdated, because, signal) {
      const key = credentialKey({ tenantId: server.tenantId, serverId: server.id, owner: ownerKey(owner) });
      return flights.run(
        `${key}\u0000${outdated?.version ?? ''}\u0000${server.revision}`,
        () => {
          const work = renewOnce(server, owner, outdated, because);
          const settled = work.catch(() => undefined).finally(() => running.delete(settled));
          running.add(settled);
          return work;
        },
        signal,
      );
    },
    async close() {
      await Promise.all(running);
    },
  };
}

interface Tried {
  readonly renewed: Renewed;
  readonly state: RenewalState & { readonly renewedAt?: number };
}

interface Job {
  readonly server: UpstreamServer;
  readonly owner: Owner;
  readonly key: GrantKey;
  readonly holder: string;
  readonly lease: Lease;
  readonly outdated: Opened | undefined;
  readonly because: 'due' | 'refused';
}

function newer(server: UpstreamServer, opened: Opened | undefined, outdated: Opened | undefined): Opened | undefined {
  const isNewer = opened !== undefined && opened.version !== outdated?.version && opened.binding === bindingOf(server);
  return isNewer ? opened : undefined;
}

/** For agents, when a grant cannot be renewed now. */
export function notNow(
  { name }: UpstreamServer,
  { retryAfterMs, reason }: Extract<Renewed, { kind: 'later' }>,
): ProxyError {
  return new ProxyError('upstream_unavailable', `${name} cannot be used for the moment: ${reason}. Try again later.`, {
    data: { retryAfterMs },
  });
}
