// Tenants: what they are called, how their people sign in, what they start with.
import { z } from 'zod';
import type { Tenant } from '../identity/tenant-store.ts';
import { parseTenantId, type TenantId } from '../shared/id.ts';
import { line, parseBody } from './body.ts';
import { limitsSchema } from './limits.ts';
import { readPage, toPage } from './page.ts';
import type { AdminDeps } from './ports.ts';
import { type AdminProblem, conflict, forbidden, invalidAt, notFound, quoted, requireAddress } from './problem.ts';
import { type AdminRequest, type AdminRoute, type Answer, created, done, ok, type TenantRequest } from './route.ts';
import { hasSecret, maskSignIn, sealSignIn, signInSchema, type WantedSignIn, withoutSecret } from './sign-in.ts';

const settings = {
  name: line(200).optional(),
  signIn: signInSchema.optional(),
  gatedDefault: z
    .union([z.boolean(), z.array(line(128)).max(100), z.enum(['not-read-only', 'destructive'])], {
      error: 'must be true, false, "not-read-only", "destructive" or a list of names of tools',
    })
    .optional(),
  limits: limitsSchema.optional(),
};
const newTenantSchema = z.strictObject({ id: z.string(), ...settings });
const changeSchema = z.strictObject(settings);

type Deps = Pick<AdminDeps, 'tenants' | 'vault' | 'definitions'>;

export function tenantRoutes(deps: Deps): readonly AdminRoute[] {
  const { tenants } = deps;
  return [
    { method: 'get', path: '/tenants', access: 'operator', handle: (request) => listTenants(deps, request) },
    { method: 'post', path: '/tenants', access: 'operator', handle: (request) => createTenant(deps, request) },
    { method: 'get', path: '/tenants/{tenant}', access: 'tenant', handle: async ({ tenant }) => ok(toView(tenant)) },
    { method: 'patch', path: '/tenants/{tenant}', access: 'tenant', handle: (request) => changeTenant(deps, request) },
    {
      method: 'delete',
      path: '/tenants/{tenant}',
      access: 'operator',
      handle: async ({ param }) => {
        const id = parseTenantId(param('tenant'));
        if (id === undefined || !(await tenants.remove(id))) throw noTenant(param('tenant'));
        return done;
      },
    },
  ];
}

async function listTenants({ tenants }: Deps, { query }: AdminRequest): Promise<Answer> {
  const { cursor, limit } = readPage(query);
  const { items, next } = await tenants.list(cursor, limit);
  return ok(toPage(items.map(toView), next));
}

async function createTenant({ tenants, vault, definitions }: Deps, { body }: AdminRequest): Promise<Answer> {
  const {
    id: text,
    name,
    signIn = { mode: 'link' },
    gatedDefault = false,
    limits = {},
  } = parseBody(newTenantSchema, body);
  const id = requireTenantId(text);
  requireSignInAddress(definitions, signIn);
  // A tenant is there before it has a key to seal with; until then its sign-in has no secret, and so opens nothing.
  const tenant = await tenants.create({ id, name: name ?? text, signIn: withoutSecret(signIn), gatedDefault, limits });
  if (tenant === undefined) throw conflict('A tenant with this id exists already.');
  if (!hasSecret(signIn)) return created(toView(tenant));
  const sealed = await tenants.update(id, { signIn: await sealSignIn(vault, id, signIn, undefined) });
  if (sealed === undefined) throw noTenant(id);
  return created(toView(sealed));
}

async function changeTenant(
  { tenants, vault, definitions }: Deps,
  { admin, tenant, body }: TenantRequest,
): Promise<Answer> {
  const { name, signIn, gatedDefault, limits } = parseBody(changeSchema, body);
  requireSignInAddress(definitions, signIn);
  if (limits !== undefined && admin.kind !== 'operator')
    throw forbidden("Only the operator changes a tenant's limits.");
  const changed = await tenants.update(tenant.id, {
    ...(name === undefined ? {} : { name }),
    ...(signIn === undefined ? {} : { signIn: await sealSignIn(vault, tenant.id, signIn, tenant.signIn) }),
    ...(gatedDefault === undefined ? {} : { gatedDefault }),
    ...(limits === undefined ? {} : { limits }),
  });
  if (changed === undefined) throw noTenant(tenant.id);
  return ok(toView(changed));
}

const noTenant = (id: string): AdminProblem => notFound(`tenant ${quoted(id)}`);

/** Where we ask who somebody is; a browser is sent to the product's page, and both are at one address. */
function requireSignInAddress({ addressRule }: Deps['definitions'], signIn: WantedSignIn | undefined): void {
  if (signIn?.mode === 'oidc') requireAddress(addressRule, '$.signIn.issuer', signIn.issuer);
}

function requireTenantId(text: string): TenantId {
  const id = parseTenantId(text);
  if (id === undefined)
    throw invalidAt(
      '$.id',
      'must be 1 to 64 lower-case letters, digits and hyphens, with a letter or digit at both ends',
    );
  return id;
}

function toView({ id, name, signIn, gatedDefault, limits }: Tenant): Readonly<Record<string, unknown>> {
  return { id, name, signIn: maskSignIn(signIn), gatedDefault: gatedDefault ?? false, limits };
}
