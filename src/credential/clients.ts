// Who we are at an authorization server: the client an admin registered, our metadata document, or a
// registration of our own, made once for each tenant, server and issuer however many nodes need it
// (2026-07-28 §authorization, client registration).
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { randomId, type TenantId } from '../shared/id.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { withinTime } from '../shared/within-time.ts';
import {
  type AuthorizationServers,
  type ClientAuthentication,
  type GrantPlace,
  type OAuthClient,
  OAuthUnavailable,
  type Registration,
  type RegistrationRequest,
  type SignInPlace,
} from './authorization-server.ts';
import type { ClientKeys } from './client-keys.ts';
import type { ClientKey, ClientStore, StoredClient } from './client-store.ts';
import { contextIdOf } from './context-id.ts';
import { clientContext } from './seal-context.ts';
import type { Vault } from './vault.ts';
import { isShredded } from './vault-errors.ts';

export interface Clients {
  /** The client to sign in as; registered now if need be. Throws ProxyError that says what an admin has to set. */
  forSignIn(server: UpstreamServer, place: SignInPlace, signal: AbortSignal): Promise<OAuthClient>;
  /** The client of that id, with the secret it has now; undefined when we are no longer that one. */
  known(
    server: UpstreamServer,
    place: Pick<GrantPlace, 'issuer' | 'tokenAuthMethods'>,
    clientId: string,
  ): Promise<OAuthClient | undefined>;
  /** A registration of ours that the server no longer knows; the next sign-in makes another. False: it was none. */
  forget(server: UpstreamServer, issuer: string, clientId: string): Promise<boolean>;
  readonly redirectUri: (server: UpstreamServer) => string;
}

export interface ClientsDeps {
  readonly store: ClientStore;
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly keys: ClientKeys;
  readonly authorizationServersOf: (tenantId: TenantId) => Pick<AuthorizationServers, 'register'>;
  readonly publicUrl: () => string;
  readonly clock: Clock;
}

/** Shorter than the lease, so that nobody else begins while it lasts. */
const REGISTER_MS = 15_000;
const LEASE_MS = 20_000;
const WAIT_MS = 25_000;
const LOOK_MS = 250;
/** A registration about to end is not begun with. */
const ENDS_SOON_MS = 5 * 60_000;
/** After a refused registration nobody asks again at once. */
const REFUSED_MS = 60_000;

export function createClients({ store, vault, keys, authorizationServersOf, publicUrl, clock }: ClientsDeps): Clients {
  const flights = new SingleFlight<OAuthClient>();
  const refusals = new Map<string, ProxyError>();

  const base = (): string => publicUrl().replace(/\/+$/, '');
  const redirectUri = (server: UpstreamServer): string =>
    `${base()}/oauth/callback/${contextIdOf(server.tenantId, server.id)}`;
  const documentUrl = ({ tenantId, id }: UpstreamServer, isPublic: boolean): string =>
    `${base()}/oauth/client-metadata/${contextIdOf(tenantId, id)}${isPublic ? '-public' : ''}.json`;

  /** What the document says of us has to be what we do. */
  const ofDocument = async (server: UpstreamServer, isPublic: boolean): Promise<OAuthClient> => {
    const clientId = documentUrl(server, isPublic);
    if (isPublic) return { clientId, authentication: { kind: 'none' } };
    const { id, privateKey } = await keys.current();
    return { clientId, authentication: { kind: 'key', keyId: id, privateKey } };
  };

  const opened = async (key: ClientKey, stored: StoredClient): Promise<OAuthClient> => {
    const { clientId, method, sealed } = stored;
    if (method === 'none' || sealed === undefined) return { clientId, authentication: { kind: 'none' } };
    const secret = await vault.open(key.tenantId, clientContext(key, stored), sealed);
    return { clientId, authentication: { kind: 'secret', method, secret } };
  };

  /** Undefined when its secret is lost with the key that sealed it: then there is no registration. */
  const openedUnlessLost = (key: ClientKey, stored: StoredClient): Promise<OAuthClient | undefined> =>
    opened(key, stored).catch((error: unknown) => {
      if (!isShredded(error)) throw error;
      return undefined;
    });

  const findGood = async (key: ClientKey, uri: string): Promise<OAuthClient | undefined> => {
    const stored = await store.find(key);
    return stored === undefined || !isGood(stored, uri) ? undefined : openedUnlessLost(key, stored);
  };

  const isGood = (client: StoredClient, uri: string): boolean =>
    !client.isOver &&
    client.redirectUri === uri &&
    (client.secretExpiresAt === undefined || client.secretExpiresAt - clock.now() > ENDS_SOON_MS);

  const registerInTime = async (
    { tenantId }: UpstreamServer,
    place: SignInPlace,
    request: RegistrationRequest,
  ): Promise<Registration> => {
    const tooLate = (): Error =>
      new OAuthUnavailable('The authorization server did not answer the registration in time.');
    return withinTime(clock, REGISTER_MS, tooLate, (signal) =>
      authorizationServersOf(tenantId).register(place, request, signal),
    );
  };

  const registerNow = async (server: UpstreamServer, place: SignInPlace, key: ClientKey) => {
    const uri = redirectUri(server);
    const request = {
      redirectUri: uri,
      clientName: 'Keybearer',
      initialAccessToken: server.credential?.initialAccessToken,
    };
    const { client, secretExpiresAt } = await registerInTime(server, place, request);
    const { authentication } = client;
    if (authentication.kind === 'key') throw new ProxyError('internal', 'A registration never asks for our key.');
    const method: StoredClient['method'] = authentication.kind === 'secret' ? authentication.method : 'none';
    const made = { clientId: client.clientId, redirectUri: uri, method };
    const sealed =
      authentication.kind === 'secret'
        ? await vault.seal(key.tenantId, clientContext(key, made), authentication.secret.reveal())
        : undefined;
    return { client, stored: { ...made, sealed, secretExpiresAt } };
  };

  const registered = async (server: UpstreamServer, place: SignInPlace): Promise<OAuthClient> => {
    const key = keyOf(server, place.issuer);
    const holder = randomId(12);
    const endsAt = clock.now() + WAIT_MS;
    for (;;) {
      const known = await findGood(key, redirectUri(server));
      if (known !== undefined) return known;
      const now = clock.now();
      if (await store.acquire(key, holder, LEASE_MS)) {
        let made: Omit<StoredClient, 'isOver'> | undefined;
        try {
          // Between the look and the lease another node may have done it.
          const current = await findGood(key, redirectUri(server));
          if (current !== undefined) return current;
          const { client, stored } = await registerNow(server, place, key);
          made = stored;
          return client;
        } finally {
          await store.release(key, holder, made);
        }
      }
      if (now > endsAt) throw new ProxyError('upstream_unavailable', 'The registration takes too long; try again.');
      await clock.sleep(LOOK_MS);
    }
  };

  /** Belongs to all who wait for it: one who leaves ends nobody else's, and a refusal is remembered all the same. */
  const registeredOrRefused = async (
    server: UpstreamServer,
    place: SignInPlace,
    signal: AbortSignal,
  ): Promise<OAuthClient> => {
    const key = JSON.stringify([server.tenantId, server.id, server.revision, place.issuer]);
    const refused = refusals.get(key);
    if (refused !== undefined) throw refused;
    const work = async (): Promise<OAuthClient> => {
      try {
        return await registered(server, place);
      } catch (error) {
        if (error instanceof ProxyError && error.code === 'upstream_protocol') {
          refusals.set(key, error);
          clock.after(REFUSED_MS, () => refusals.delete(key));
        }
        throw error;
      }
    };
    return flights.run(key, work, signal);
  };

  const preRegistered = (server: UpstreamServer, methods: readonly string[] | undefined): OAuthClient | undefined => {
    const clientId = server.credential?.oauth['clientId'];
    if (typeof clientId !== 'string') return undefined;
    return { clientId, authentication: authenticationOf(server, methods) };
  };

  return {
    redirectUri,
    async forSignIn(server, place, signal) {
      const own = preRegistered(server, place.tokenAuthMethods);
      if (own !== undefined) return own;
      // The authorization server has to be able to fetch the document, so it has to be on https.
      if (place.takesMetadataDocument && publicUrl().startsWith('https:'))
        return ofDocument(server, takesOnlyPublic(place.tokenAuthMethods));
      if (place.registrationEndpoint !== undefined) return registeredOrRefused(server, place, signal);
      throw new ProxyError(
        'upstream_protocol',
        `Its sign-in server registers no clients by itself. An admin has to register this proxy there (redirect URI ${redirectUri(server)}) and set credential.oauth.clientId and clientSecret.`,
      );
    },
    async known(server, { issuer, tokenAuthMethods }, clientId) {
      const own = preRegistered(server, tokenAuthMethods);
      if (own !== undefined) return own.clientId === clientId ? own : undefined;
      for (const isPublic of [false, true])
        if (clientId === documentUrl(server, isPublic)) return ofDocument(server, isPublic);
      const key = keyOf(server, issuer);
      const stored = await store.find(key);
      return stored?.clientId === clientId ? openedUnlessLost(key, stored) : undefined;
    },
    forget: (server, issuer, clientId) => store.forget(keyOf(server, issuer), clientId),
  };
}

function takesOnlyPublic(methods: readonly string[] | undefined): boolean {
  return methods !== undefined && !methods.includes('private_key_jwt') && methods.includes('none');
}

function keyOf({ tenantId, id }: UpstreamServer, issuer: string): ClientKey {
  return { tenantId, serverId: id, issuer };
}

function authenticationOf(
  { credential }: UpstreamServer,
  methods: readonly string[] | undefined,
): ClientAuthentication {
  const secret = credential?.clientSecret;
  if (secret === undefined) return { kind: 'none' };
  const onlyPost =
    methods !== undefined && !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
  return { kind: 'secret', method: onlyPost ? 'client_secret_post' : 'client_secret_basic', secret };
}
