// The token endpoint: four grant types, each checked as strictly as the RFCs say.
import { createHash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { type AuthorizeDeps, words } from './as-authorize.ts';
import type { AsClient } from './as-clients.ts';
import type { Grant } from './as-grants.ts';
import type { AsAnswer, AsRequest } from './as-options.ts';
import { OAuthError } from './oauth-error.ts';

export type TokenDeps = Pick<AuthorizeDeps, 'settings' | 'clients' | 'grants'>;

type Give = (deps: TokenDeps, request: AsRequest, client: AsClient) => AsAnswer;

const grantTypes: Readonly<Record<string, Give>> = {
  authorization_code: byCode,
  refresh_token: byRefreshToken,
  client_credentials: byClient,
  'urn:ietf:params:oauth:grant-type:token-exchange': byExchange,
};

export async function token(deps: TokenDeps, request: AsRequest): Promise<AsAnswer> {
  const type = request.params['grant_type'] ?? '';
  const give = Object.hasOwn(grantTypes, type) ? grantTypes[type] : undefined;
  const client = await deps.clients.authenticate(request);
  if (give === undefined) throw new OAuthError('unsupported_grant_type');
  return give(deps, request, client);
}

function byCode(deps: TokenDeps, { params }: AsRequest, client: AsClient): AsAnswer {
  const code = deps.grants.codes.get(params['code'] ?? '');
  if (code === undefined || code.grant.clientId !== client.clientId) throw new OAuthError('invalid_grant');
  if (code.used) {
    // RFC 6749 §4.1.2: what came of the first use is taken back too.
    deps.grants.punish(code.grant);
    throw new OAuthError('invalid_grant');
  }
  code.used = true;
  const challenge = createHash('sha256')
    .update(params['code_verifier'] ?? '')
    .digest('base64url');
  if (params['redirect_uri'] !== code.redirectUri || challenge !== code.challenge)
    throw new OAuthError('invalid_grant');
  checkResource(code.grant, params['resource']);
  return answer(deps, code.grant, deps.settings.refreshTokens ? deps.grants.refreshToken(code.grant) : undefined);
}

function byRefreshToken(deps: TokenDeps, { params }: AsRequest, client: AsClient): AsAnswer {
  const text = params['refresh_token'] ?? '';
  const known = deps.grants.refreshTokens.get(text)?.grant;
  if (known === undefined || known.clientId !== client.clientId) throw new OAuthError('invalid_grant');
  checkResource(known, params['resource']);
  const scopes = params['scope'] === undefined ? known.scopes : words(params['scope']);
  if (!scopes.every((scope) => known.scopes.includes(scope))) throw new OAuthError('invalid_scope');
  const used = deps.grants.useRefreshToken(text);
  if (used === undefined) throw new OAuthError('invalid_grant');
  return answer(deps, used.grant, used.next, scopes);
}

function byClient(deps: TokenDeps, { params }: AsRequest, client: AsClient): AsAnswer {
  if (client.method === 'none') throw new OAuthError('unauthorized_client');
  return answer(deps, grantFor(client, client.clientId, params), undefined);
}

/** RFC 8693: for whoever the subject token names; its signature is not what these tests are about. */
function byExchange(deps: TokenDeps, { params }: AsRequest, client: AsClient): AsAnswer {
  const subject = subjectOf(params['subject_token'] ?? '');
  return answer(deps, grantFor(client, subject, params), undefined, undefined, {
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  });
}

const grantFor = (client: AsClient, subject: string, params: AsRequest['params']): Grant => ({
  clientId: client.clientId,
  subject,
  scopes: words(params['scope']),
  resource: params['resource'],
  revoked: false,
});

function subjectOf(token: string): string {
  try {
    const { sub } = decodeJwt(token);
    if (sub !== undefined) return sub;
  } catch {
    // Not a JWT: refused like one without a subject.
  }
  throw new OAuthError('invalid_request');
}

/** RFC 8707 §2.2: what the grant was for, and nothing else. */
function checkResource(grant: Grant, resource: string | undefined): void {
  if (resource !== grant.resource && grant.resource !== undefined) throw new OAuthError('invalid_target');
}

function answer(
  { settings, grants }: TokenDeps,
  grant: Grant,
  refreshToken: string | undefined,
  scopes: readonly string[] = grant.scopes,
  more: Readonly<Record<string, string>> = {},
): AsAnswer {
  const { accessTokenLifeS, saysScope } = settings;
  return {
    status: 200,
    body: {
      access_token: grants.accessToken(grant, scopes),
      token_type: 'Bearer',
      ...(accessTokenLifeS === undefined ? {} : { expires_in: accessTokenLifeS }),
      ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
      ...(saysScope ? { scope: scopes.join(' ') } : {}),
      ...more,
    },
  };
}
