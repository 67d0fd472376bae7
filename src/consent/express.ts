// Between express and the pages: what a page may know of a request, and how its answer is written.
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { contentPolicy } from '../shared/content-policy.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { type Answer, type BrowserRequest, refuse } from './answer.ts';
import { formTargets, isOwnPost } from './browser-rules.ts';
import { cookieName, readCookies, writeCookie } from './cookies.ts';
import { render } from './layout.ts';
import { type Site, siteOf } from './site.ts';

export function toBrowserRequest(
  request: Pick<Request, 'headers' | 'url' | 'body'>,
  site: Site,
  address: string,
): BrowserRequest {
  const cookies = readCookies(request.headers.cookie);
  const { url } = request;
  const body: unknown = request.body;
  return {
    site,
    cookie: (name) => cookies.get(cookieName(site, name)),
    query: new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : ''),
    field: (name) => fieldIn(body, name),
    address,
  };
}

/** A field sent twice is a list, and nothing we asked for. */
function fieldIn(body: unknown, name: string): string {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, name)) return '';
  const value: unknown = Reflect.get(body, name);
  return typeof value === 'string' ? value : '';
}

export function send(response: Response, site: Site, answer: Answer): void {
  for (const cookie of answer.cookies ?? []) response.append('Set-Cookie', writeCookie(site, cookie));
  if (answer.kind === 'redirect') {
    // By hand: what express adds would repeat the address, which may hold a state, as text.
    response.status(303).set('Location', answer.to).end();
    return;
  }
  const { onward, formLeadsTo, retryAfterS } = answer;
  if (retryAfterS !== undefined) response.set('Retry-After', String(retryAfterS));
  if (formLeadsTo !== undefined) response.set('Content-Security-Policy', contentPolicy(formTargets(formLeadsTo)));
  if (onward !== undefined) response.set('Refresh', `${onward.afterS}; url=${onward.url}`);
  response.status(answer.status).type('html').send(render(site, answer.content));
}

export function refuseForeign(publicUrl: () => string): RequestHandler {
  return (request, response, next) => {
    const sender = { origin: request.get('origin'), secFetchSite: request.get('sec-fetch-site') };
    if (isOwnPost(sender, publicUrl())) next();
    else send(response, siteOf(publicUrl()), refuse(403, 'The form was sent from another site.'));
  };
}

/** Never the address in the log: it holds the ticket, or a code (T23). */
export function lastWord(publicUrl: () => string, logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const status = clientFault(error);
    if (status === undefined) logger.error({ error: describeError(error) }, 'a sign-in page failed');
    send(response, siteOf(publicUrl()), refuse(status ?? 500, reasonFor(status)));
  };
}

function reasonFor(status: number | undefined): string {
  if (status === 413) return 'What was sent is too long.';
  return status === undefined ? 'Something went wrong on our side.' : 'What was sent could not be read.';
}

/** body-parser and the router mark with a status what the browser did wrong. */
function clientFault(error: unknown): number | undefined {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}
