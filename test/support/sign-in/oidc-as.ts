// The real oidc-provider on loopback: an authorization server that nobody here wrote. Tokens for a named
// resource, refresh tokens that are rotated with reuse detection, registration, and pages for a person.
import { generateKeyPairSync } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createLocalJWKSet, exportJWK, jwtVerify } from 'jose';
import { type ClientMetadata, type Configuration, Provider } from 'oidc-provider';
import { listen } from '../upstreams/listener.ts';
import { OidcStorage } from './oidc-adapter.ts';
import { INTERACTION, interact } from './oidc-pages.ts';
import type { Access, TokenSource } from './token-source.ts';

export interface OidcOptions {
  /** Default: signed. */
  readonly accessTokens?: 'jwt' | 'opaque';
  readonly accessTokenLifeS?: number;
  /** Scopes of the MCP servers behind it. */
  readonly scopes?: readonly string[];
  /** Default: to whoever may use them. `offline_access`: only who asks for that scope (and for consent) gets one. */
  readonly refreshTokens?: 'always' | 'offline_access';
  /** Told each request before it is answered. */
  readonly onRequest?: (req: IncomingMessage) => void;
}

export interface OidcAs extends TokenSource {
  /** Registers a client by hand. */
  addClient(client: ClientMetadata): Promise<void>;
  /** Ends every grant and opaque or refresh token; signed tokens live on until they expire. */
  revokeAll(): void;
  /** How often each of its events came, e.g. `grant.success`, `grant.revoked`, `registration_create.success`. */
  readonly events: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

const EVENTS = [
  'authorization.success',
  'authorization.error',
  'grant.success',
  'grant.error',
  'grant.revoked',
  'refresh_token.consumed',
  'registration_create.success',
  'registration_create.error',
  'revocation.error',
  'server_error',
] as const;

const signingKey = (): ReturnType<typeof generateKeyPairSync> => generateKeyPairSync('rsa', { modulusLength: 2048 });

function configurationOf(options: OidcOptions, storage: OidcStorage, jwks: Configuration['jwks']): Configuration {
  const { accessTokens = 'jwt', accessTokenLifeS = 3600, scopes = ['notes:read', 'notes:write'] } = options;
  const always = options.refreshTokens !== 'offline_access';
  return {
    adapter: storage.adapter,
    ...(jwks === undefined ? {} : { jwks }),
    cookies: { keys: ['only for tests'] },
    findAccount: (_, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, email: `${accountId}@example.com` }),
    }),
    claims: { email: ['email'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ...(always ? { issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token') } : {}),
    interactions: { url: (_, { uid }) => `${INTERACTION}${uid}` },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      introspection: { enabled: true, allowedPolicy: () => true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        // Any: an MCP server's address is known only after this server has started.
        getResourceServerInfo: (_, resource) => ({
          scope: scopes.join(' '),
          audience: resource,
          accessTokenFormat: accessTokens,
          accessTokenTTL: accessTokenLifeS,
          ...(accessTokens === 'jwt' ? { jwt: { sign: { alg: 'RS256' } } } : {}),
        }),
      },
    },
    ttl: {
      AccessToken: accessTokenLifeS,
      ClientCredentials: accessTokenLifeS,
      IdToken: 3600,
      RefreshToken: 86_400,
      Interaction: 600,
      Session: 86_400,
      Grant: 86_400,
    },
  };
}

export async function startOidcAs(options: OidcOptions = {}): Promise<OidcAs> {
  const storage = new OidcStorage();
  const { privateKey, publicKey } = signingKey();
  const published = { ...(await exportJWK(publicKey)), kid: 'test', alg: 'RS256', use: 'sig' };
  const keySet = createLocalJWKSet({ keys: [published] });
  const events = new Map<string, number>();
  let answer: Parameters<typeof listen>[0] = (_, res) => res.destroy();
  const listener = await listen((req, res) => {
    options.onRequest?.(req);
    answer(req, res);
  });
  const issuer = new URL(listener.url).origin;
  const jwks = { keys: [{ ...(await exportJWK(privateKey)), kid: 'test', alg: 'RS256', use: 'sig' }] };
  const provider = new Provider(issuer, configurationOf(options, storage, jwks));
  // Its own types list each event with another kind of listener; counting needs none of that.
  const emitter: EventEmitter = provider;
  for (const name of EVENTS) emitter.on(name, () => events.set(name, (events.get(name) ?? 0) + 1));
  const callback = provider.callback();
  answer = (req, res) => {
    const isOurs = req.url?.startsWith(INTERACTION) ?? false;
    Promise.resolve(isOurs ? interact(provider, req, res) : callback(req, res)).catch(() => res.destroy());
  };

  const checkSigned = async (token: string): Promise<Access | undefined> => {
    try {
      const { payload } = await jwtVerify(token, keySet, {
        issuer,
        typ: 'at+jwt',
        requiredClaims: ['sub', 'aud', 'exp'],
      });
      return accessOf(payload.sub, payload.aud, payload['scope'], payload['client_id']);
    } catch {
      return undefined;
    }
  };

  return {
    issuer,
    events,
    async check(token) {
      const opaque = await provider.AccessToken.find(token);
      if (opaque === undefined) return checkSigned(token);
      return accessOf(opaque.accountId, opaque.aud, opaque.scope, opaque.clientId);
    },
    addClient: async (client) => {
      await storage.adapter('Client').upsert(client.client_id, client, 0);
    },
    revokeAll: () => storage.revokeAll(),
    close: () => listener.close(),
  };
}

/** An audience of many is somebody else's to sort out; here there is one. */
function accessOf(subject: unknown, audience: unknown, scope: unknown, clientId: unknown): Access {
  return {
    subject: String(subject),
    resource: Array.isArray(audience) ? String(audience[0]) : String(audience),
    scopes: typeof scope === 'string' ? scope.split(' ') : [],
    clientId: String(clientId),
  };
}
