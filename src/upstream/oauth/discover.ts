// Remembers where people sign in: for the minute in which they come one after another, and failures for a
// moment, so that retrying agents are no hammer on anybody's sign-in server (T8). No longer: a server that
// moves to another sign-in server says so in these documents only.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SignInTroubles } from '../../catalog/sign-in-troubles.ts';
import type { UpstreamServer } from '../../catalog/upstream-server.ts';
import type { AuthorizationServers, SignInPlace } from '../../credential/authorization-server.ts';
import type { Clock } from '../../shared/clock.ts';
import { ProxyError } from '../../shared/errors.ts';
import type { TenantId } from '../../shared/id.ts';
import { describeError, type Logger } from '../../shared/logger.ts';
import { SingleFlight } from '../../shared/single-flight.ts';
import { withinTime } from '../../shared/within-time.ts';
import type { MayUseHttp } from './address.ts';
import { readChallenge } from './challenge.ts';
import { createDocumentReader, withBudget } from './documents.ts';
import { asProxyError } from './errors.ts';
import type { OAuthFetch } from './oauth-fetch.ts';
import { pinsOf } from './pins.ts';
import { askForChallenge } from './probe.ts';
import { findSignInPlace } from './sign-in-place.ts';

const FRESH_MS = 60_000;
const FAILED_FOR_MS = 15_000;
const DEADLINE_MS = 30_000;
const MAX_PLACES = 1_000;

export interface DiscoverDeps {
  readonly fetchOf: (tenantId: TenantId) => OAuthFetch;
  readonly clock: Clock;
  readonly mayUseHttp: MayUseHttp;
  readonly logger: Logger;
  /** Told how each attempt ended. */
  readonly signInTroubles?: Pick<SignInTroubles, 'failed' | 'found'> | undefined;
}

export type Discover = AuthorizationServers['discover'];

type Known = { readonly until: number } & ({ readonly place: SignInPlace } | { readonly failure: ProxyError });

export function createDiscover({ fetchOf, clock, mayUseHttp, logger, signInTroubles }: DiscoverDeps): Discover {
  const known = new LRUCache<string, Known>({ max: MAX_PLACES });
  const flights = new SingleFlight<SignInPlace>();

  async function ask(server: UpstreamServer, seen: string | undefined, signal: AbortSignal): Promise<SignInPlace> {
    const { transport } = server;
    const serverUrl = transport.kind === 'stdio' ? undefined : transport.url;
    const limited = withBudget(fetchOf(server.tenantId));
    const pins = pinsOf(server);
    // With everything pinned a challenge could only add its scopes, and nothing is asked for that.
    const header =
      seen ??
      (transport.kind === 'stdio' || pins.areEnough ? undefined : await askForChallenge(limited, transport, signal));
    return findSignInPlace({
      serverUrl,
      pins,
      challenge: readChallenge(header, serverUrl ?? ''),
      read: createDocumentReader(limited, signal),
      mayUseHttp,
    });
  }

  /** The work belongs to everybody who waits for it, so it has its own bound. */
  async function discover(server: UpstreamServer, challenge: string | undefined): Promise<SignInPlace> {
    try {
      return await withinTime(clock, DEADLINE_MS, tookTooLong, (signal) => ask(server, challenge, signal));
    } catch (error) {
      throw asProxyError(error);
    }
  }

  async function remember(key: string, server: UpstreamServer, work: Promise<SignInPlace>): Promise<SignInPlace> {
    try {
      const place = await work;
      known.set(key, { until: clock.now() + FRESH_MS, place });
      signInTroubles?.found(server);
      return place;
    } catch (error) {
      if (error instanceof ProxyError) known.set(key, { until: clock.now() + FAILED_FOR_MS, failure: error });
      signInTroubles?.failed(server, error);
      const { tenantId, id: serverId, name } = server;
      logger.warn({ tenantId, serverId, server: name, error: describeError(error) }, 'sign-in not discovered');
      throw error;
    }
  }

  return async (server, challenge, signal, isAgain = false) => {
    const key = keyOf(server, challenge);
    const kept = isAgain ? undefined : known.get(key);
    if (kept !== undefined && clock.now() < kept.until) {
      if ('failure' in kept) throw kept.failure;
      return kept.place;
    }
    return flights.run(key, () => remember(key, server, discover(server, challenge)), signal);
  };
}

const tookTooLong = (): Error =>
  new ProxyError('upstream_unavailable', 'Finding out how to sign in there took too long. Try again in a moment.');

/** A challenge may be long, and is the server's to choose; its hash is short. */
function keyOf({ tenantId, id, revision }: UpstreamServer, challenge: string | undefined): string {
  const hash = challenge === undefined ? '' : createHash('sha256').update(challenge).digest('base64url');
  return JSON.stringify([tenantId, id, revision, hash]);
}
