// The express side of the sign-in pages: routes, body limit, and a plain page for whatever goes wrong.
import express, { type ErrorRequestHandler, type Request, type Response, Router } from 'express';
import { describeError, type Logger } from '../shared/logger.ts';
import { isOwnPost, strictPages } from './browser-rules.ts';
import { type ConnectDeps, createConnectPages, type Page } from './connect.ts';
import { refusedPage } from './pages.ts';
import { STYLESHEET } from './stylesheet.ts';

export interface ConsentDeps extends ConnectDeps {
  readonly publicUrl: () => string;
}

const readForm = express.urlencoded({ extended: false, limit: 16 * 1024, parameterLimit: 10 });

/** Mounted at `/`; answers nothing but /connect/{ticket} and /connect.css. */
export function createConsentRouter(deps: ConsentDeps): Router {
  const pages = createConnectPages(deps);
  const router = Router({ caseSensitive: true });

  router.use(['/connect', '/connect.css'], strictPages);
  router.get('/connect.css', (_request, response) => {
    response.set('Cache-Control', 'public, max-age=3600').type('css').send(STYLESHEET);
  });
  router.get('/connect/:ticket', async (request: Request<{ ticket: string }>, response) => {
    send(response, await pages.open(request.params.ticket));
  });
  router.post(
    '/connect/:ticket',
    refuseForeign(deps.publicUrl),
    readForm,
    async (request: Request<{ ticket: string }>, response) => {
      send(response, await pages.submit(request.params.ticket, pastedIn(request.body)));
    },
  );
  router.use('/connect', lastWord(deps.logger));
  return router;
}

function send(response: Response, { status, body }: Page): void {
  response.status(status).type('html').send(body);
}

function refuseForeign(publicUrl: () => string) {
  return (request: Request, response: Response, next: () => void): void => {
    const sender = { origin: request.get('origin'), secFetchSite: request.get('sec-fetch-site') };
    if (isOwnPost(sender, publicUrl())) next();
    else send(response, { status: 403, body: refusedPage('The form was sent from another site.') });
  };
}

/** A field sent twice is a list, and nothing we asked for. */
function pastedIn(body: unknown): string {
  const value = typeof body === 'object' && body !== null && 'secret' in body ? body.secret : undefined;
  return typeof value === 'string' ? value : '';
}

/** Never the address in the log: it holds the ticket (T23). */
function lastWord(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const status = clientFault(error);
    if (status === undefined) logger.error({ error: describeError(error) }, 'a sign-in page failed');
    const reason =
      status === 413
        ? 'What was sent is too long.'
        : status === undefined
          ? 'Something went wrong on our side.'
          : 'What was sent could not be read.';
    send(response, { status: status ?? 500, body: refusedPage(reason) });
  };
}

/** body-parser and the router mark with a status what the browser did wrong. */
function clientFault(error: unknown): number | undefined {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}
