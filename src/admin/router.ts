// The express side of the admin API: who is asking, then the body, then the route; problems as documents.
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import type { Tenant } from '../identity/tenant-store.ts';
import { parseTenantId } from '../shared/id.ts';
import { describeError } from '../shared/logger.ts';
import { type Admin, createAdmit } from './admit.ts';
import { requireSound } from './body.ts';
import { openApiDocument } from './openapi.ts';
import type { AdminDeps } from './ports.ts';
import { AdminProblem, forbidden, notFound, quoted, toDocument, toProblem } from './problem.ts';
import type { AdminRequest, AdminRoute, Answer } from './route.ts';
import { adminRoutes } from './routes.ts';

const JSON_TYPES = ['application/json', 'application/*+json'];
const readJson = express.json({ limit: 1024 * 1024, strict: false, type: JSON_TYPES });

/** Mounted at /admin/v1. */
export function createAdminRouter(deps: AdminDeps): Router {
  const router = Router({ caseSensitive: true });
  const routes = adminRoutes(deps);
  router.get('/openapi.json', (_request, response) => {
    response.json(openApiDocument);
  });
  router.use(requireAdmin(deps));
  // Before the body is read, so that a wrong address costs nothing.
  for (const route of routes) {
    const body = route.takesNoBody ? [] : [requireJson, readJson];
    router[route.method](toExpressPath(route.path), ...body, run(deps, route));
  }
  for (const path of new Set(routes.map((route) => route.path)))
    router.all(toExpressPath(path), refuseMethod(routes, path));
  router.use(() => {
    throw new AdminProblem(404, 'There is no such route; see /admin/v1/openapi.json.');
  });
  router.use(lastWord(deps));
  return router;
}

function toExpressPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

function requireAdmin(deps: AdminDeps): RequestHandler {
  const admit = createAdmit(deps);
  return async (request, response, next) => {
    const authorization = request.headersDistinct['authorization']?.join(', ');
    const admin = await admit(authorization, () => deps.clients.of(request));
    if (admin === undefined)
      throw new AdminProblem(401, isAgentKey(authorization) ? OTHER_KIND : 'The admin API needs an admin key.', [], {
        'WWW-Authenticate': 'Bearer realm="keybearer-admin"',
      });
    response.locals['admin'] = admin;
    next();
  };
}

/** By its form alone, so that it tells nothing of which keys there are. */
const isAgentKey = (authorization = ''): boolean => /^bearer +kb_/i.test(authorization);
const OTHER_KIND =
  "The admin API needs an admin key. One that begins with kb_ is an agent's; here it would have to be known, with the scope admin:{tenant}.";

const requireJson: RequestHandler = (request, _response, next) => {
  if (request.method === 'GET' || request.method === 'DELETE') return next();
  if (request.is(JSON_TYPES) === null || request.get('content-length') === '0')
    throw new AdminProblem(400, 'A JSON body is needed.');
  if (request.is(JSON_TYPES) === false)
    throw new AdminProblem(415, 'The body must be JSON: send Content-Type: application/json.');
  next();
};

function run(deps: AdminDeps, route: AdminRoute): RequestHandler {
  return async (request, response) => {
    const asked = toAdminRequest(request, response);
    send(
      response,
      route.access === 'operator'
        ? await runOperator(route, asked)
        : await route.handle({ ...asked, tenant: await getTenant(deps, asked) }),
    );
  };
}

async function runOperator(route: Extract<AdminRoute, { access: 'operator' }>, request: AdminRequest): Promise<Answer> {
  if (request.admin.kind !== 'operator') throw forbidden('Only the operator may do this.');
  return route.handle(request);
}

/** To a tenant's admin, another tenant looks like one that is not there. */
async function getTenant({ tenants, directory }: AdminDeps, { admin, param }: AdminRequest): Promise<Tenant> {
  const id = parseTenantId(param('tenant'));
  const missing = notFound(admin.kind === 'operator' ? `tenant ${quoted(param('tenant'))}` : 'such thing here');
  if (id === undefined || (admin.kind === 'tenant' && admin.tenantId !== id)) throw missing;
  const tenant = await tenants.find(id);
  if (tenant === undefined) throw missing;
  // What another node was told a moment ago counts here too, and so does a tenant nobody asked for yet.
  await directory.refresh(id);
  return tenant;
}

function toAdminRequest(request: Request, response: Response): AdminRequest {
  const query = new URL(request.originalUrl, 'http://localhost').searchParams;
  const words = [...Object.values(request.params).flat(), ...query.values()];
  // No row holds a NUL, and the database refuses to look for one.
  if (words.some((word) => word.includes('\u0000')))
    throw new AdminProblem(400, 'The address has a NUL character in it.');
  requireSound(request.body);
  // Put there by `requireAdmin`, through which every request here came.
  const admin = response.locals['admin'] as Admin;
  return { admin, query, body: request.body as unknown, param: (name) => paramOf(request, name) };
}

function paramOf(request: Request, name: string): string {
  const value = request.params[name];
  if (typeof value !== 'string') throw new Error(`the route has no parameter ${name}`);
  return value;
}

function send(response: Response, { status, body }: Answer): void {
  if (body === undefined) response.status(status).end();
  else response.status(status).json(body);
}

function refuseMethod(routes: readonly AdminRoute[], path: string): RequestHandler {
  const methods = routes.filter((route) => route.path === path).map(({ method }) => method.toUpperCase());
  return () => {
    throw new AdminProblem(405, `This address takes ${methods.join(', ')}.`, [], { Allow: methods.join(', ') });
  };
}

function lastWord({ logger }: AdminDeps): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const problem = toProblem(error);
    if (problem === undefined)
      logger.error({ method: request.method, error: describeError(error) }, 'an admin request failed');
    const shown = problem ?? new AdminProblem(500, 'Something went wrong inside the proxy.');
    response
      .status(shown.status)
      .set(shown.headers)
      .type('application/problem+json')
      .send(JSON.stringify(toDocument(shown)));
  };
}
