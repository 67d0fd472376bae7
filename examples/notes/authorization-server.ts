// A sample authorization server, as an MCP server may have one: clients register themselves, people sign in on
// its pages, and tokens are for one MCP server. RFC 8414, 7591, 6749 with PKCE, 8707, 9207 and 7009.
import express, { type Request, type Response, Router } from 'express';
import type { Grants, Tokens } from './grants.ts';
import { refusalPage, signInPage } from './pages.ts';

/** A form or a JSON document, of which nothing is known yet. */
type Sent = Request<Record<string, string>, unknown, Record<string, unknown>>;

export const SCOPES = ['notes:read', 'notes:write'];

export function createAuthorizationServer(grants: Grants, issuer: () => string): Router {
  const router = Router();
  const form = express.urlencoded({ extended: false });

  router.get('/.well-known/oauth-authorization-server', (_, response) => {
    response.json({
      issuer: issuer(),
      authorization_endpoint: `${issuer()}/authorize`,
      token_endpoint: `${issuer()}/token`,
      registration_endpoint: `${issuer()}/register`,
      revocation_endpoint: `${issuer()}/revoke`,
      scopes_supported: SCOPES,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
    });
  });

  router.post('/register', express.json(), (request: Sent, response) => {
    const { redirect_uris: uris } = request.body;
    if (!Array.isArray(uris) || uris.length === 0) {
      response.status(400).json({ error: 'invalid_redirect_uri' });
      return;
    }
    const client_id = grants.register(uris.map(String));
    response.status(201).json({ ...request.body, client_id, token_endpoint_auth_method: 'none' });
  });

  router.get('/authorize', (request, response) => {
    const asked = readRequest(grants, request, response);
    if (asked !== undefined) response.send(signInPage(asked.scopes));
  });

  // The form goes to the address that its page was opened with, so the client's request is still in the query.
  router.post('/authorize', form, (request: Sent, response) => {
    const asked = readRequest(grants, request, response);
    if (asked === undefined) return;
    const person = textOf(request.body['name']).trim();
    const isAllowed = request.body['answer'] !== 'deny' && person !== '';
    const answer: Record<string, string> = isAllowed
      ? { code: grants.allow({ ...asked, person }) }
      : { error: 'access_denied' };
    const back = new URL(asked.redirectUri);
    for (const [name, value] of Object.entries({ ...answer, state: asked.state, iss: issuer() }))
      back.searchParams.set(name, value);
    response.redirect(302, back.href);
  });

  router.post('/token', form, (request: Sent, response) => {
    const tokens = tokensFor(grants, request.body);
    response.set('cache-control', 'no-store');
    if (tokens === undefined) response.status(400).json({ error: 'invalid_grant' });
    else
      response.json({
        access_token: tokens.accessToken,
        token_type: 'Bearer',
        expires_in: tokens.lifeS,
        refresh_token: tokens.refreshToken,
      });
  });

  router.post('/revoke', form, (request: Sent, response) => {
    grants.revoke(textOf(request.body['token']));
    response.end();
  });

  return router;
}

/** The client's request, or undefined after having told the person what is wrong with it. */
function readRequest(grants: Grants, { query }: Pick<Request, 'query'>, response: Response) {
  const clientId = textOf(query['client_id']);
  const redirectUri = textOf(query['redirect_uri']);
  const challenge = textOf(query['code_challenge']);
  const refuse = (reason: string): undefined => void response.status(400).send(refusalPage(reason));
  if (grants.clients.get(clientId)?.includes(redirectUri) !== true)
    return refuse('This application is not known here, or wants you to be sent to an address that it never named.');
  if (query['response_type'] !== 'code' || challenge === '' || query['code_challenge_method'] !== 'S256')
    return refuse('This application did not ask as it should (code flow with PKCE S256).');
  const scopes = textOf(query['scope'])
    .split(' ')
    .filter((scope) => SCOPES.includes(scope));
  const state = textOf(query['state']);
  return { clientId, redirectUri, challenge, scopes, state, resource: textOf(query['resource']) };
}

function tokensFor(grants: Grants, body: Record<string, unknown>): Tokens | undefined {
  const text = (name: string): string => textOf(body[name]);
  const clientId = text('client_id');
  switch (body['grant_type']) {
    case 'authorization_code': {
      const claim = { clientId, redirectUri: text('redirect_uri'), verifier: text('code_verifier') };
      return grants.redeem(text('code'), claim);
    }
    case 'refresh_token':
      return grants.renew(text('refresh_token'), clientId);
    default:
      return undefined;
  }
}

/** A parameter sent twice is a list, and nothing that was asked for. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
