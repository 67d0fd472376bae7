// What tenants' identity providers say about themselves, remembered for a while.
import { LRUCache } from 'lru-cache';
import type { ExportedJWKSCache } from 'openid-client';
import type { IdentityProvider } from '../../identity/person-sign-in.ts';
import type { Clock } from '../../shared/clock.ts';
import { ProxyError } from '../../shared/errors.ts';
import type { TenantId } from '../../shared/id.ts';
import { SingleFlight } from '../../shared/single-flight.ts';
import { withinTime } from '../../shared/within-time.ts';
import { addressProblem, type MayUseHttp } from './address.ts';
import type { Party } from './configuration.ts';
import { createDocumentReader } from './documents.ts';
import type { OAuthFetch } from './oauth-fetch.ts';
import { findServerMetadata, openIdAddress, type ServerMetadata, unsafe } from './server-metadata.ts';

const FRESH_MS = 10 * 60_000;
const DEADLINE_MS = 15_000;
const MAX_PROVIDERS = 500;

export interface Provider extends Party {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly jwksUri: string;
  /** As last fetched; openid-client decides how long they are good. */
  keys: ExportedJWKSCache | undefined;
}

export interface Providers {
  /** Throws ProxyError. */
  find(provider: IdentityProvider, signal: AbortSignal): Promise<Provider>;
}

export interface ProvidersDeps {
  readonly fetchOf: (tenantId: TenantId) => OAuthFetch;
  readonly clock: Clock;
  readonly mayUseHttp: MayUseHttp;
}

export function createProviders({ fetchOf, clock, mayUseHttp }: ProvidersDeps): Providers {
  const known = new LRUCache<string, { readonly provider: Provider; readonly until: number }>({ max: MAX_PROVIDERS });
  const flights = new SingleFlight<Provider>();

  async function discover({ tenantId, issuer }: IdentityProvider): Promise<Provider> {
    const problem = addressProblem(issuer, mayUseHttp);
    if (problem !== undefined) throw unsafe('issuer', problem);
    const found = await withinTime(clock, DEADLINE_MS, tookTooLong, (signal) =>
      findServerMetadata({
        addresses: [openIdAddress(issuer)],
        issuers: [issuer],
        read: createDocumentReader(fetchOf(tenantId), signal),
        mayUseHttp,
      }),
    );
    if (found.kind === 'none')
      throw new ProxyError(
        'upstream_protocol',
        `The identity provider ${new URL(issuer).host} publishes no metadata of its own: ${found.asked.join(', ')}.`,
      );
    return providerOf(found.metadata);
  }

  async function remember(key: string, asked: IdentityProvider): Promise<Provider> {
    const provider = await discover(asked);
    known.set(key, { provider, until: clock.now() + FRESH_MS });
    return provider;
  }

  return {
    async find(asked, signal) {
      const key = JSON.stringify([asked.tenantId, asked.issuer, asked.clientId]);
      const kept = known.get(key);
      if (kept !== undefined && clock.now() < kept.until) return kept.provider;
      return flights.run(key, () => remember(key, asked), signal);
    },
  };
}

const tookTooLong = (): Error =>
  new ProxyError('upstream_unavailable', 'The identity provider did not answer in time.');

function providerOf(metadata: ServerMetadata): Provider {
  const { issuer, authorizationEndpoint, tokenEndpoint, jwksUri, tokenAuthMethods, answersWithIssuer } = metadata;
  if (authorizationEndpoint === undefined) throw unsafe('authorization_endpoint', 'is missing');
  if (tokenEndpoint === undefined) throw unsafe('token_endpoint', 'is missing');
  if (jwksUri === undefined) throw unsafe('jwks_uri', 'is missing');
  return {
    issuer,
    authorizationEndpoint,
    tokenEndpoint,
    jwksUri,
    tokenAuthMethods,
    answersWithIssuer,
    idTokenAlgorithms: metadata.idTokenAlgorithms,
    keys: undefined,
  };
}
