// The authorization endpoint: says yes by itself, or no, or asks on a page, and sends the browser back.
import type { AsClients } from './as-clients.ts';
import type { AsGrants } from './as-grants.ts';
import type { AsAnswer, AsRequest, AsSettings } from './as-options.ts';

export interface AuthorizeDeps {
  readonly issuer: () => string;
  readonly settings: AsSettings;
  readonly clients: AsClients;
  readonly grants: AsGrants;
}

const COOKIE = 'as_person';

/** The answer goes to the person's eyes, not back to the client: nobody knows where that is (RFC 6749 §4.1.2.1). */
const page = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): AsAnswer => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8', ...headers },
  body: `<!doctype html><meta charset="utf-8"><title>Sign in</title>${body}`,
});

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export const words = (text: string | undefined): readonly string[] => (text ?? '').split(' ').filter(Boolean);

export async function authorize(deps: AuthorizeDeps, request: AsRequest): Promise<AsAnswer> {
  const { settings, clients } = deps;
  const { params } = request;
  const { client_id: clientId = '', redirect_uri: redirectUri = '' } = params;
  if (settings.authorize.kind === 'bounce') return { status: 302, headers: { location: settings.authorize.to } };
  const client = await clients.find(clientId);
  if (client === undefined) return page(400, '<h1>Unknown client</h1>');
  if (!client.redirectUris.includes(redirectUri)) return page(400, '<h1>Unknown redirect address</h1>');
  const refuse = (error: string, description?: string): AsAnswer =>
    back(deps, request, {
      error,
      ...(description === undefined ? {} : { error_description: description }),
    });
  if (params['response_type'] !== 'code') return refuse('unsupported_response_type');
  if (params['code_challenge_method'] !== 'S256' || params['code_challenge'] === undefined)
    return refuse('invalid_request', 'PKCE with S256 is needed');
  switch (settings.authorize.kind) {
    case 'deny':
      return refuse(settings.authorize.error ?? 'access_denied', settings.authorize.description);
    case 'approve':
      return approve(deps, request, params['login_hint'] ?? cookieOf(request) ?? settings.nextSubject);
    case 'page':
      return ask(deps, request);
  }
}

function ask(deps: AuthorizeDeps, request: AsRequest): AsAnswer {
  const { params, method } = request;
  if (method !== 'POST') {
    const name = params['login_hint'] ?? cookieOf(request) ?? '';
    const kept = Object.entries(params).map(
      ([key, value]) => `<input type="hidden" name="${escape(key)}" value="${escape(value)}">`,
    );
    return page(
      200,
      `<h1>Sign in</h1><form method="post">${kept.join('')}<label>Name <input name="name" value="${escape(name)}" autofocus></label>
<button name="answer" value="yes">Allow</button><button name="answer" value="no">Deny</button></form>`,
    );
  }
  if (params['answer'] === 'no') return back(deps, request, { error: 'access_denied' });
  const name = params['name'] ?? '';
  const answer = approve(deps, request, name);
  const cookie = `${COOKIE}=${encodeURIComponent(name)}; Path=/; HttpOnly; SameSite=Lax`;
  return { ...answer, headers: { ...answer.headers, 'set-cookie': cookie } };
}

function approve(deps: AuthorizeDeps, request: AsRequest, subject: string): AsAnswer {
  const { params } = request;
  const { grantableScopes } = deps.settings;
  const scopes = words(params['scope']).filter((scope) => grantableScopes?.includes(scope) ?? true);
  const grant = {
    clientId: params['client_id'] ?? '',
    subject,
    scopes,
    resource: params['resource'],
    revoked: false,
  };
  const code = deps.grants.code(grant, params['redirect_uri'] ?? '', params['code_challenge'] ?? '');
  return back(deps, request, { code });
}

function back(
  { issuer, settings }: AuthorizeDeps,
  { params }: AsRequest,
  answer: Readonly<Record<string, string>>,
): AsAnswer {
  const url = new URL(params['redirect_uri'] ?? '');
  const iss = settings.iss === 'none' ? {} : { iss: settings.iss === 'right' ? issuer() : settings.iss.wrong };
  const state = params['state'] === undefined ? {} : { state: params['state'] };
  for (const [name, value] of Object.entries({ ...answer, ...state, ...iss })) url.searchParams.set(name, value);
  return { status: 302, headers: { location: url.href } };
}

function cookieOf({ headers }: AsRequest): string | undefined {
  const value = new RegExp(`(?:^|; )${COOKIE}=([^;]*)`).exec(headers.cookie ?? '')?.[1];
  return value === undefined ? undefined : decodeURIComponent(value);
}
