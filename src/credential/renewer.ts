// Renews a grant once, however many calls wait for it, on however many nodes: a lease on the grant, a
// look whether it was renewed meanwhile, the request outside of any transaction, the new version written,
// then used. The work belongs to the grant, not to the call that asked for it first (T10).
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import { ProxyError } from '../shared/errors.ts';
import { randomId, type ServerId } from '../shared/id.ts';
import { describeError } from '../shared/logger.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { withinTime } from '../shared/within-time.ts';
import { OAuthRefusal, OAuthUnavailable } from './authorization-server.ts';
import type { Clients } from './clients.ts';
import { type Owner, ownerKey } from './credential.ts';
import { credentialKey } from './credential-store.ts';
import type { Grant } from './grant.ts';
import type { Opened } from './kept-credentials.ts';
import { isOfOurOwn, type ObtainTokens, type RequireSubject } from './obtain-tokens.ts';
import { afterFailure, FRESH, type Renewed } from './renewal-failure.ts';
import type { GrantKey, Lease, RenewalState, RenewalStore } from './renewal-store.ts';
import { createRenewalTurns } from './renewal-turns.ts';
import { createWriteRenewal, newerOf, type Renewal, type WriteRenewalDeps } from './write-renewal.ts';

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

export interface RenewerDeps extends WriteRenewalDeps {
  readonly renewals: RenewalStore;
  readonly obtain: ObtainTokens;
  readonly clients: Pick<Clients, 'forget' | 'known'>;
  readonly requireSubject: RequireSubject;
  readonly changes: ChangeFeed;
}

/** All of one renewal at the authorization server; each request is bounded more tightly. */
const REQUEST_MS = 22_000;
/** Longer than a renewal with its writing lasts; a node that died holds a grant up for so long. */
const LEASE_MS = 30_000;
const WAIT_MS = 45_000;
/** How long a lease of somebody else is waited for before it is tried again: doubled each time. */
const FIRST_LOOK_MS = 250;
const LAST_LOOK_MS = 4_000;
/** However often a server says 401: its word alone renews a grant once in this time. */
const BETWEEN_MS = 30_000;

export function createRenewer(deps: RenewerDeps): Renewer {
  const { kept, renewals, obtain, clients, changes, clock, logger } = deps;
  const writing = createWriteRenewal(deps);
  const flights = new SingleFlight<Renewed>();
  const turns = createRenewalTurns(clock);
  const running = new Set<Promise<unknown>>();
  const waiters = new Set<() => void>();
  let isClosing = false;

  const renewOnce = async (
    server: UpstreamServer,
    owner: Owner,
    outdated: Opened | undefined,
    because: 'due' | 'refused',
  ): Promise<Renewed> => {
    const key: GrantKey = { tenantId: server.tenantId, serverId: server.id, owner: ownerKey(owner) };
    const holder = randomId(12);
    const endsAt = clock.now() + WAIT_MS;
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 2, LAST_LOOK_MS)) {
      const unsaved = writing.unsaved(key, outdated?.version);
      if (unsaved !== undefined) return { kind: 'renewed', opened: unsaved };
      const now = clock.now();
      const lease = await renewals.acquire(key, holder, LEASE_MS);
      if (lease !== undefined) return await underLease({ server, owner, key, holder, lease, outdated, because });
      // Somebody else renews it; theirs is as good.
      const theirs = newerOf(server, (await kept.load(server, key.owner)).opened, outdated);
      if (theirs !== undefined) return { kind: 'renewed', opened: theirs };
      if (now > endsAt || isClosing)
        return { kind: 'later', retryAfterMs: 1_000, reason: 'its credential is being renewed elsewhere' };
      await newsOf(key, pause);
    }
  };

  /** Until somebody wrote the grant, or it is time to look again: many may wait for one lease. */
  const newsOf = (key: GrantKey, ms: number): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        unsubscribe();
        cancel();
        waiters.delete(done);
        resolve();
      };
      const unsubscribe = changes.subscribe((change) => {
        if (
          change.kind === 'credentials' &&
          credentialKey(key) === credentialKey({ ...change, serverId: change.serverId as ServerId })
        )
          done();
      });
      const cancel = clock.after(ms, done);
      waiters.add(done);
    });

  const underLease = async (job: Job): Promise<Renewed> => {
    const { server, key, holder, lease, outdated, because } = job;
    let result: RenewalState & { readonly renewedAt: number | undefined } = { ...lease.state, renewedAt: undefined };
    try {
      const { opened } = await kept.load(server, key.owner);
      const theirs = newerOf(server, opened, outdated);
      if (theirs !== undefined) return { kind: 'renewed', opened: theirs };
      // What is there for another place counts as nothing. Removed meanwhile: nothing may come back by a renewal.
      const there = opened?.binding === bindingOf(server) ? opened.version : undefined;
      if (there !== outdated?.version) return { kind: 'over' };
      // Where there is no grant yet it is the definition that failed; an edited one is tried at once.
      const version = outdated?.version ?? `definition-${server.revision}`;
      const state = lease.state.version === version ? lease.state : { ...FRESH, version };
      const justRenewed = lease.renewedAt !== undefined && clock.now() - lease.renewedAt < BETWEEN_MS;
      if (state.spent || (because === 'refused' && justRenewed)) return { kind: 'over' };
      if (state.retryAt !== undefined && state.retryAt > clock.now())
        return {
          kind: 'later',
          retryAfterMs: state.retryAt - clock.now(),
          reason: 'its last renewal failed a moment ago',
        };
      const tried = await tryNow(job, state);
      result = { renewedAt: undefined, ...tried.state };
      return tried.renewed;
    } finally {
      await renewals
        .release(key, holder, result)
        // The lease runs out by itself.
        .catch((error: unknown) => logger.warn({ error: describeError(error) }, 'lease on a grant not given back'));
    }
  };

  const tryNow = async (job: Job, state: RenewalState): Promise<Tried> => {
    const { server, owner, outdated } = job;
    const grant = outdated?.content.kind === 'grant' ? outdated.content.grant : undefined;
    const tooLate = (): Error => new OAuthUnavailable('the sign-in server did not answer in time');
    try {
      const next = await withinTime(clock, REQUEST_MS, tooLate, (signal) => obtain(server, owner, grant, signal));
      // Nothing to renew it with, and refused: it has ended.
      if (next === undefined)
        return { renewed: { kind: 'over' }, state: { ...state, spent: job.because === 'refused' || state.spent } };
      const renewed = await writing.write(job, next);
      logger.info({ tenantId: server.tenantId, server: server.name, because: job.because }, 'grant renewed');
      const version = renewed.kind === 'renewed' ? renewed.opened.version : undefined;
      return { renewed, state: { ...FRESH, version, renewedAt: clock.now() } };
    } catch (error) {
      const isUnknownClient = error instanceof OAuthRefusal && error.code === 'invalid_client';
      const clientIsGone = isUnknownClient && grant !== undefined && (await isForgotten(server, grant));
      const verdict = afterFailure(error, state, clock.now(), {
        canEnd: !isOfOurOwn(server),
        clientIsGone,
        isAboutCaller: server.credential?.kind === 'token_exchange',
      });
      if (verdict === undefined) throw error;
      const isOldNews =
        state.retryAt !== undefined &&
        state.failures > 0 === verdict.state.failures > 0 &&
        verdict.renewed.kind === 'later';
      const what = { tenantId: server.tenantId, server: server.name, why: verdict.why };
      logger[isOldNews ? 'debug' : 'warn'](what, 'grant not renewed');
      // Once more: what was refused may have been replaced while we asked, and then it says nothing.
      const theirs = newerOf(server, (await kept.load(server, job.key.owner)).opened, outdated);
      if (theirs !== undefined)
        return { renewed: { kind: 'renewed', opened: theirs }, state: { ...FRESH, version: theirs.version } };
      return verdict;
    }
  };

  /** Of many whose grants were given to one registration, the first finds it there to be forgotten (B207). */
  const isForgotten = async (server: UpstreamServer, { place, clientId }: Grant): Promise<boolean> =>
    (await clients.forget(server, place.issuer, clientId)) ||
    (await clients.known(server, place, clientId)) === undefined;

  return {
    async renew(server, owner, outdated, because, signal) {
      deps.requireSubject(server, owner);
      const key = credentialKey({ tenantId: server.tenantId, serverId: server.id, owner: ownerKey(owner) });
      return flights.run(
        `${key}\u0000${outdated?.version ?? ''}\u0000${server.revision}`,
        () => {
          const work = turns.run(server, () => renewOnce(server, owner, outdated, because));
          const settled = work.catch(() => undefined).finally(() => running.delete(settled));
          running.add(settled);
          return work;
        },
        signal,
      );
    },
    async close() {
      isClosing = true;
      // Who waits for the lease of others holds nothing; only our own renewals are waited for.
      turns.close();
      for (const wake of waiters) wake();
      await Promise.all(running);
      writing.close();
    },
  };
}

interface Tried {
  readonly renewed: Renewed;
  readonly state: RenewalState & { readonly renewedAt?: number };
}

interface Job extends Renewal {
  readonly holder: string;
  readonly lease: Lease;
  readonly because: 'due' | 'refused';
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
