// The servers of a tenant: those it registered here, and, to read, those of the operator's file.
import { maskDefinition } from '../catalog/sealed-definition.ts';
import type { TenantId } from '../shared/id.ts';
import { prepareDefinition } from './definitions.ts';
import { pageOf, readPage } from './page.ts';
import type { AdminDeps, RegisteredServer } from './ports.ts';
import { AdminProblem, conflict, notFound, quoted } from './problem.ts';
import { type AdminRoute, type Answer, done, ok, type TenantRequest, toTime } from './route.ts';

type Deps = Pick<AdminDeps, 'servers' | 'directory' | 'definitions' | 'redirectUri'>;

export function serverRoutes(deps: Deps): readonly AdminRoute[] {
  const path = '/tenants/{tenant}/servers';
  return [
    { method: 'get', path, access: 'tenant', handle: (request) => listServers(deps, request) },
    {
      method: 'get',
      path: `${path}/{name}`,
      access: 'tenant',
      handle: async ({ tenant, param }) => ok(toView(deps, getServer(deps, tenant.id, param('name')))),
    },
    { method: 'put', path: `${path}/{name}`, access: 'tenant', handle: (request) => putServer(deps, request) },
    { method: 'delete', path: `${path}/{name}`, access: 'tenant', handle: (request) => removeServer(deps, request) },
  ];
}

export function getServer(
  { directory }: Pick<AdminDeps, 'directory'>,
  tenantId: TenantId,
  name: string,
): RegisteredServer {
  const found = directory.find(tenantId, name);
  if (found === undefined) throw noServer(name);
  return found;
}

const noServer = (name: string): AdminProblem => notFound(`server ${quoted(name)} in this tenant`);

async function listServers(deps: Deps, { tenant, query }: TenantRequest): Promise<Answer> {
  const page = pageOf(deps.directory.list(tenant.id), ({ name }) => name, readPage(query));
  return ok({ ...page, items: page.items.map((registered) => toView(deps, registered)) });
}

async function putServer(deps: Deps, { tenant, param, body }: TenantRequest): Promise<Answer> {
  const { servers, directory, definitions } = deps;
  const name = param('name');
  requireWritable(deps, tenant.id, name);
  // From the table, not from memory: another node may have written a moment ago.
  const previous = (await servers.list(tenant.id)).find((row) => row.name === name)?.definition;
  const { sealed, enabled } = await prepareDefinition(definitions, {
    tenantId: tenant.id,
    name,
    definition: body,
    previous,
  });
  await servers.put(tenant.id, name, sealed, enabled);
  await directory.refresh(tenant.id);
  const stored = directory.find(tenant.id, name);
  if (stored === undefined) throw new AdminProblem(409, 'The server was stored, and removed again by somebody else.');
  return ok(toView(deps, stored));
}

async function removeServer(deps: Deps, { tenant, param }: TenantRequest): Promise<Answer> {
  const name = param('name');
  requireWritable(deps, tenant.id, name);
  if (!(await deps.servers.remove(tenant.id, name))) throw noServer(name);
  await deps.directory.refresh(tenant.id);
  return done;
}

function requireWritable({ directory }: Deps, tenantId: TenantId, name: string): void {
  if (directory.find(tenantId, name)?.source === 'file')
    throw conflict("This server is in the operator's file and can only be changed there.");
}

function toView({ redirectUri }: Deps, registered: RegisteredServer): Readonly<Record<string, unknown>> {
  const { name, revision, enabled, source, status, definition, problems, server } = registered;
  const { state, reason = null, toolCount, lastError } = status;
  return {
    name,
    revision,
    enabled,
    source,
    status: state,
    reason,
    toolCount,
    lastError: lastError?.text ?? (state === 'unavailable' || state === 'invalid' ? reason : null),
    lastErrorAt: lastError === undefined ? null : toTime(lastError.at),
    ...(problems.length === 0 ? {} : { problems }),
    // For admins who register a client by hand; it belongs to this server alone.
    ...(server?.credential?.kind === 'oauth' ? { redirectUri: redirectUri(server) } : {}),
    definition: maskDefinition(definition),
  };
}
