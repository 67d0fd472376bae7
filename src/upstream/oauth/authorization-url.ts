// Where the browser is sent (RFC 6749 §4.1.1), with PKCE and the resource always.
import { calculatePKCECodeChallenge } from 'openid-client';
import type { AuthorizationRequest, OAuthClient, SignInPlace } from '../../credential/authorization-server.ts';
import { AUTHORIZATION_PARAMS } from '../../shared/authorization-params.ts';
import { addressProblem, type MayUseHttp } from './address.ts';
import { unsafe } from './server-metadata.ts';

/** Written by us or by nobody: whoever could set them could undo PKCE, state or audience. */
const OURS: ReadonlySet<string> = new Set(AUTHORIZATION_PARAMS);

export async function buildAuthorizationUrl(
  place: Pick<SignInPlace, 'authorizationEndpoint' | 'resource'>,
  { clientId }: OAuthClient,
  { redirectUri, state, verifier, scopes, extraParams }: AuthorizationRequest,
  mayUseHttp: MayUseHttp,
): Promise<string> {
  return writeUrl(place.authorizationEndpoint, mayUseHttp, {
    ...Object.fromEntries(Object.entries(extraParams).filter(([name]) => !OURS.has(name))),
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource: place.resource,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    ...promptFor(scopes, extraParams['prompt']),
  });
}

/** Only a consent that was asked for brings offline access (OpenID Connect Core §11). */
function promptFor(scopes: readonly string[], wished: string | undefined): Readonly<Record<string, string>> {
  const prompts = new Set((wished ?? '').split(' ').filter((word) => word !== ''));
  if (scopes.includes('offline_access') && !prompts.has('none')) prompts.add('consent');
  return prompts.size === 0 ? {} : { prompt: [...prompts].join(' ') };
}

/** What the endpoint's address has in its query stays, but for names that are ours. */
export function writeUrl(endpoint: string, mayUseHttp: MayUseHttp, params: Readonly<Record<string, string>>): string {
  const problem = addressProblem(endpoint, mayUseHttp);
  if (problem !== undefined) throw unsafe('authorization_endpoint', problem);
  const url = new URL(endpoint);
  for (const name of OURS) url.searchParams.delete(name);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}
