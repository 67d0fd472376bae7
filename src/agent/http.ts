// The express app: everything that is not MCP itself. The order of its parts is the order of this file.
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from 'express';
import type { ClientAddress } from '../limits/client-address.ts';
import type { Strangers } from '../limits/strangers.ts';
import { toProxyError } from '../shared/errors.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { resourceMetadata, WELL_KNOWN } from './protected-resource.ts';
import { parseMcpRoute } from './route.ts';
import { strictHeaders } from './strict-headers.ts';

export interface HttpAppDeps {
  readonly publicUrl: () => string;
  /** Issuers whose tokens are taken on the route of this tenant; none when the route names no tenant. */
  readonly issuersOf: (tenant: string | undefined) => Promise<readonly string[]>;
  readonly isReady: () => Promise<boolean>;
  readonly strangers: Pick<Strangers, 'countPage'>;
  readonly clients: Pick<ClientAddress, 'of'>;
  readonly admin: Router;
  /** What people see, and what other servers may read about us. */
  readonly pages: readonly Router[];
  readonly logger: Logger;
}

export function createHttpApp(deps: HttpAppDeps): Express {
  const { publicUrl, issuersOf, isReady, admin, pages, logger } = deps;
  const app = express();
  app.set('etag', false);
  // What express would make of the headers of a front is not used: see limits/client-address.ts.
  app.set('trust proxy', false);
  app.use(strictHeaders(publicUrl));

  app.get('/healthz', (_request, response) => {
    response.json({ status: 'alive' });
  });
  app.get('/readyz', async (_request, response) => {
    const ready = await isReady();
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready' });
  });

  app.get(`${WELL_KNOWN}{/*route}`, fairDocuments(deps), async (request, response, next) => {
    const base = new URL(publicUrl()).pathname.replace(/\/$/, '');
    const named = request.path.slice(WELL_KNOWN.length);
    const path = named === '' || named === '/' ? '/mcp' : named;
    const route = parseMcpRoute(path.startsWith(`${base}/`) ? path.slice(base.length) : path);
    if (route === undefined) {
      next();
      return;
    }
    const metadata = resourceMetadata(publicUrl(), route, await issuersOf(route.tenant));
    response.set('cache-control', 'max-age=60').set('access-control-allow-origin', '*').json(metadata);
  });

  app.use('/admin/v1', admin);
  for (const router of pages) app.use(router);
  app.get('/', (_request, response) => {
    response.json({ name: 'keybearer', mcp: `${publicUrl()}/mcp`, admin: `${publicUrl()}/admin/v1` });
  });
  app.use((_request, response) => {
    response.status(404).json({ error: 'not_found', message: 'There is nothing here.' });
  });
  app.use(lastWord(logger));
  return app;
}

/** Anybody may read them, and finding out whose sign-in servers to name asks the database. */
function fairDocuments({ strangers, clients }: Pick<HttpAppDeps, 'strangers' | 'clients'>): RequestHandler {
  return (request, response, next) => {
    try {
      strangers.countPage(clients.of(request));
    } catch (error) {
      const { code, message, data } = toProxyError(error);
      const waitS = Math.ceil(Number(data?.['retryAfterMs'] ?? 1_000) / 1_000);
      response.status(429).set('retry-after', String(waitS)).json({ error: code, message });
      return;
    }
    next();
  };
}

function lastWord(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    if (isUnreadable(error)) {
      response.status(400).json({ error: 'invalid_request', message: 'The address is not well-formed.' });
      return;
    }
    logger.error({ error: describeError(error) }, 'request failed');
    response.status(500).json({ error: 'internal', message: 'Something went wrong inside the proxy.' });
  };
}

/** The router marks with a status what the other side did wrong: half of a percent sign, for one. */
function isUnreadable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'status' in error && error.status === 400;
}
