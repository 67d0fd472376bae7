// Makes us known to an authorization server that lets anybody in (RFC 7591), or tells the admin what to
// set where it does not.
import {
  type ClientAuthentication,
  type OAuthClient,
  OAuthUnavailable,
  type Registration,
  type RegistrationRequest,
  type SignInPlace,
} from '../../credential/authorization-server.ts';
import { ProxyError } from '../../shared/errors.ts';
import { Secret } from '../../shared/secret.ts';
import type { JsonObject } from '../../wire/reply.ts';
import { retryAfterMs } from '../http-errors.ts';
import { readJsonObject, readText } from './documents.ts';
import { translateError } from './errors.ts';
import type { OAuthAnswer } from './oauth-fetch.ts';
import type { EndpointDeps } from './token-request.ts';

type Method = 'client_secret_basic' | 'client_secret_post' | 'none';
/** A secret proves us where we can keep one, which we can. */
const PREFERRED: readonly Method[] = ['client_secret_basic', 'client_secret_post', 'none'];

/** Throws ProxyError when an admin has to act, OAuthUnavailable when later may do. */
export async function register(
  { fetch, clock }: EndpointDeps,
  place: SignInPlace,
  { redirectUri, clientName, initialAccessToken }: RegistrationRequest,
  signal: AbortSignal,
): Promise<Registration> {
  if (place.registrationEndpoint === undefined) throw notLetIn('offers no registration');
  const method = chooseMethod(place.tokenAuthMethods);
  const wanted = {
    application_type: 'web',
    client_name: clientName,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
  };
  try {
    const answer = await fetch({
      url: place.registrationEndpoint,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(initialAccessToken === undefined ? {} : { authorization: `Bearer ${initialAccessToken.reveal()}` }),
      },
      body: JSON.stringify(wanted),
      signal,
    });
    return readRegistration(answer, method, clock.now());
  } catch (error) {
    throw translateError(error, signal);
  }
}

/** Not said means client_secret_basic (RFC 8414 §2). */
function chooseMethod(offered: readonly string[] | undefined): Method {
  if (offered === undefined) return 'client_secret_basic';
  const method = PREFERRED.find((one) => offered.includes(one));
  if (method === undefined) throw notLetIn('knows clients by no way that a registration could give');
  return method;
}

function readRegistration(answer: OAuthAnswer, asked: Method, now: number): Registration {
  const { status } = answer;
  if (status === 429 || status >= 500)
    throw new OAuthUnavailable(
      `The authorization server answered the registration with HTTP status ${status}.`,
      retryAfterMs(answer.headers.get('retry-after') ?? undefined, now),
    );
  if (status !== 200 && status !== 201) throw notLetIn(`refused the registration (HTTP ${status})`);
  const said = readJsonObject(answer.body);
  const clientId = readText(said?.['client_id']);
  if (said === undefined || clientId === undefined) throw notLetIn('gave no client id');
  const secret = readText(said['client_secret']);
  const client: OAuthClient = { clientId, authentication: authenticationIn(said, secret, asked) };
  return { client, secretExpiresAt: secret === undefined ? undefined : readExpiry(said['client_secret_expires_at']) };
}

/** The server may have chosen otherwise than asked (RFC 7591 §3.2.1). */
function authenticationIn(said: JsonObject, secret: string | undefined, asked: Method): ClientAuthentication {
  const method = readText(said['token_endpoint_auth_method']) ?? asked;
  if (method === 'none' || secret === undefined) return { kind: 'none' };
  if (method !== 'client_secret_basic' && method !== 'client_secret_post')
    throw notLetIn('registered us with a way to prove ourselves that was not asked for');
  return { kind: 'secret', method, secret: new Secret(secret) };
}

/** Epoch seconds; 0: does not end. */
function readExpiry(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof seconds === 'number' && seconds > 0 && Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

const notLetIn = (what: string): ProxyError =>
  new ProxyError(
    'upstream_protocol',
    `The authorization server ${what}. An admin can register Keybearer there and set "clientId" and "clientSecret" in credential.oauth, or the "initialAccessToken" that it asks for.`,
  );
