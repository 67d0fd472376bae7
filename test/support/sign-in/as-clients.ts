// The clients of a scripted authorization server: registered before, by themselves, or by a document.
import { randomUUID } from 'node:crypto';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { isObject, type JsonObject } from '../upstreams/message.ts';
import type { AsAnswer, AsRequest, AsSettings } from './as-options.ts';
import { OAuthError } from './oauth-error.ts';

export interface AsClient {
  readonly clientId: string;
  readonly redirectUris: readonly string[];
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
  readonly secret: string | undefined;
  readonly jwksUri?: string;
}

const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

const WAIT_MS = 5_000;

export class AsClients {
  readonly all = new Map<string, AsClient>();
  readonly #settings: AsSettings;
  readonly #audiences: () => readonly string[];

  /** `audiences` are the names under which an assertion may speak to this server. */
  constructor(settings: AsSettings, audiences: () => readonly string[]) {
    this.#settings = settings;
    this.#audiences = audiences;
  }

  /** RFC 7591. */
  register({ json, headers }: AsRequest): AsAnswer {
    const { register, registeredMethod } = this.#settings;
    if (register.kind === 'refuse') {
      const { status, error = 'access_denied' } = register;
      return { status, body: { error } };
    }
    if (register.kind === 'token' && headers.authorization !== `Bearer ${register.initialAccessToken}`)
      return { status: 401, headers: { 'www-authenticate': 'Bearer' }, body: { error: 'invalid_token' } };
    const redirectUris = texts(json['redirect_uris']);
    if (redirectUris.length === 0) return { status: 400, body: { error: 'invalid_redirect_uri' } };
    const asked = json['token_endpoint_auth_method'] ?? 'client_secret_basic';
    const method = registeredMethod ?? (asked as AsClient['method']);
    const secret = method.startsWith('client_secret') ? `secret-${randomUUID()}` : undefined;
    const clientId = `client-${randomUUID()}`;
    this.all.set(clientId, { clientId, redirectUris, method, secret });
    return {
      status: 201,
      body: {
        ...json,
        client_id: clientId,
        token_endpoint_auth_method: method,
        ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
      },
    };
  }

  /** The client that an authorization request names; its document is read where it is a URL. */
  async find(clientId: string): Promise<AsClient | undefined> {
    const known = this.all.get(clientId);
    if (known !== undefined || !this.#settings.metadataDocuments || !/^https?:\/\//.test(clientId)) return known;
    const response = await fetch(clientId, { redirect: 'error', signal: AbortSignal.timeout(WAIT_MS) });
    const document: unknown = await response.json();
    if (!isObject(document) || document['client_id'] !== clientId) return undefined;
    const client = clientOf(clientId, document);
    this.all.set(clientId, client);
    return client;
  }

  /** Who sends a token request. */
  async authenticate({ params, headers }: AsRequest): Promise<AsClient> {
    const basic = /^Basic (.+)$/i.exec(headers.authorization ?? '')?.[1];
    const [id, secret] = basic === undefined ? [params['client_id'], params['client_secret']] : decodeBasic(basic);
    const client = this.all.get(id ?? '');
    if (client === undefined) throw new OAuthError('invalid_client', 401);
    const used = basic !== undefined ? 'client_secret_basic' : secret !== undefined ? 'client_secret_post' : 'none';
    if (client.method === 'private_key_jwt') await this.#checkAssertion(client, params['client_assertion'] ?? '');
    else if (client.method !== used || client.secret !== secret) throw new OAuthError('invalid_client', 401);
    return client;
  }

  /** RFC 7523 §3. */
  async #checkAssertion(client: AsClient, assertion: string): Promise<void> {
    try {
      await jwtVerify(assertion, createRemoteJWKSet(new URL(client.jwksUri ?? '')), {
        issuer: client.clientId,
        subject: client.clientId,
        audience: [...this.#audiences()],
        requiredClaims: ['exp', 'jti'],
      });
    } catch {
      throw new OAuthError('invalid_client', 401);
    }
  }
}

function clientOf(clientId: string, document: JsonObject): AsClient {
  const { jwks_uri: jwksUri, token_endpoint_auth_method: method } = document;
  return {
    clientId,
    redirectUris: texts(document['redirect_uris']),
    method: method === 'private_key_jwt' ? 'private_key_jwt' : 'none',
    secret: undefined,
    ...(typeof jwksUri === 'string' ? { jwksUri } : {}),
  };
}

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
function decodeBasic(text: string): [string, string] {
  const [id = '', secret = ''] = Buffer.from(text, 'base64').toString('utf8').split(':');
  const decode = (part: string): string => decodeURIComponent(part.replaceAll('+', ' '));
  return [decode(id), decode(secret)];
}
