// Agent keys: made here, shown once, ended here.
import { z } from 'zod';
import { createAgentKey } from '../identity/agent-key.ts';
import type { AgentKey } from '../identity/tenant-store.ts';
import { ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { line, orNull, parseBody } from './body.ts';
import { pageOf, readPage } from './page.ts';
import type { AdminDeps } from './ports.ts';
import { invalid, invalidAt, notFound } from './problem.ts';
import { type AdminRoute, type Answer, created, done, ok, type TenantRequest, toTime } from './route.ts';

const MAX_PRINCIPALS = 1000;

const keySchema = z.strictObject({
  name: line(200),
  principal: orNull(z.string()),
  mayActFor: orNull(
    z.union([z.literal('*'), z.array(z.string()).max(MAX_PRINCIPALS)], {
      error: 'must be "*" or a list of principals',
    }),
  ),
  // RFC 6749 §3.3
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, 'must be a scope without blanks'))
    .max(50)
    .default([]),
  expiresAt: orNull(z.iso.datetime({ offset: true, error: 'must be a time like "2030-01-31T12:00:00Z"' })),
});

type Deps = Pick<AdminDeps, 'keys' | 'clock'>;

export function keyRoutes(deps: Deps): readonly AdminRoute[] {
  const path = '/tenants/{tenant}/keys';
  return [
    { method: 'get', path, access: 'tenant', handle: (request) => listKeys(deps, request) },
    { method: 'post', path, access: 'tenant', handle: (request) => createKey(deps, request) },
    {
      method: 'delete',
      path: `${path}/{id}`,
      access: 'tenant',
      handle: async ({ tenant, param }) => {
        if (!(await deps.keys.remove(tenant.id, param('id')))) throw notFound('key with this id in this tenant');
        return done;
      },
    },
  ];
}

async function listKeys({ keys }: Deps, { tenant, query }: TenantRequest): Promise<Answer> {
  const page = pageOf(await keys.list(tenant.id), ({ id }) => id, readPage(query));
  return ok({ ...page, items: page.items.map(toView) });
}

async function createKey({ keys, clock }: Deps, { tenant, body }: TenantRequest): Promise<Answer> {
  const { name, principal, mayActFor, scopes, expiresAt } = parseBody(keySchema, body);
  requireOwnScopes(tenant.id, scopes);
  if (principal !== undefined && mayActFor !== undefined)
    throw invalidAt('$.mayActFor', 'goes not together with "principal"');
  const wanted = {
    tenantId: tenant.id,
    name,
    principal,
    mayActFor,
    scopes,
  };
  const { key, record } = tryCreate(
    { ...wanted, expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt) },
    clock,
  );
  await keys.create(record);
  return created({ ...toView(record), key });
}

/** Another tenant's admin scope would do nothing, and look as if it did. */
function requireOwnScopes(tenantId: TenantId, scopes: readonly string[]): void {
  const foreign = scopes.flatMap((scope, index) =>
    scope.startsWith('admin:') && scope !== `admin:${tenantId}` ? [index] : [],
  );
  if (foreign.length > 0)
    throw invalid(
      foreign.map((index) => ({
        path: `$.scopes[${String(index)}]`,
        message: `the only admin scope of this tenant is "admin:${tenantId}"`,
      })),
    );
}

/** What the key's own rules refuse is a mistake in the body. */
function tryCreate(...wanted: Parameters<typeof createAgentKey>): ReturnType<typeof createAgentKey> {
  try {
    return createAgentKey(...wanted);
  } catch (error) {
    if (error instanceof ProxyError && error.code === 'invalid_request') throw invalidAt('$', error.message);
    throw error;
  }
}

function toView({
  id,
  name,
  principal,
  mayActFor,
  scopes,
  expiresAt,
  createdAt,
}: AgentKey): Readonly<Record<string, unknown>> {
  return {
    id,
    name,
    principal: principal ?? null,
    mayActFor,
    scopes,
    expiresAt: toTime(expiresAt),
    createdAt: toTime(createdAt),
  };
}
