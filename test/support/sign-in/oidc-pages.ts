// The two pages that a person sees at the real provider: who are you, and is this all right.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { InteractionResults, Provider } from 'oidc-provider';
import { readBody } from '../upstreams/listener.ts';
import { isObject } from '../upstreams/message.ts';

export const INTERACTION = '/interaction/';

type Details = Awaited<ReturnType<Provider['interactionDetails']>>;

const escape = (text: unknown): string =>
  String(text).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const page = (res: ServerResponse, title: string, form: string): void => {
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  res.end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>
<form method="post">${form}</form></html>`);
};

export async function interact(provider: Provider, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const details = await provider.interactionDetails(req, res);
  if (req.method === 'POST') {
    const fields = new URLSearchParams(await readBody(req));
    const result = await resultOf(provider, details, fields);
    return provider.interactionFinished(req, res, result, { mergeWithLastSubmission: true });
  }
  const { prompt, params } = details;
  if (prompt.name === 'login') {
    const name = escape(params['login_hint'] ?? '');
    return page(
      res,
      'Sign in',
      `<label>Name <input name="name" value="${name}" required autofocus></label><button type="submit">Sign in</button>`,
    );
  }
  page(
    res,
    'Allow access',
    `<p>${escape(params['client_id'])} asks for <b>${escape(params['scope'] ?? 'nothing in particular')}</b>
at ${escape(params['resource'] ?? 'no place in particular')}.</p>
<button name="answer" value="yes" autofocus>Allow</button><button name="answer" value="no">Deny</button>`,
  );
}

async function resultOf(provider: Provider, details: Details, fields: URLSearchParams): Promise<InteractionResults> {
  if (details.prompt.name === 'login') return { login: { accountId: fields.get('name') ?? '', remember: true } };
  if (fields.get('answer') !== 'yes') return { error: 'access_denied' };
  return { consent: { grantId: await grant(provider, details) } };
}

/** All that was asked for and is still missing. */
async function grant(provider: Provider, { prompt, params, session, grantId }: Details): Promise<string> {
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const accountId = session?.accountId;
  const clientId = String(params['client_id']);
  const given = known ?? new provider.Grant({ clientId, ...(accountId === undefined ? {} : { accountId }) });
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = prompt.details;
  const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
  given.addOIDCScope(texts(missingOIDCScope).join(' '));
  given.addOIDCClaims(texts(missingOIDCClaims));
  for (const [resource, scopes] of Object.entries(isObject(missingResourceScopes) ? missingResourceScopes : {}))
    given.addResourceScope(resource, texts(scopes).join(' '));
  return given.save();
}
