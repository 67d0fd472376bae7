// Sign-in links that a product gives to its own people, without an agent in between.
import { z } from 'zod';
import { bindingOf } from '../catalog/binding.ts';
import { needsPerson, type UpstreamServer } from '../catalog/upstream-server.ts';
import { ownerKey } from '../credential/credential.ts';
import { type PrincipalId, parsePrincipalId, type TenantId } from '../shared/id.ts';
import { parseBody, safeUrl } from './body.ts';
import type { AdminDeps, RegisteredServer } from './ports.ts';
import { conflict, invalidAt } from './problem.ts';
import { type AdminRoute, type Answer, created, type TenantRequest, toTime } from './route.ts';

const linkSchema = z.strictObject({
  principal: z.string(),
  servers: z.array(z.string()).min(1).max(100).optional(),
  // Checked, and not used yet: the page ends with the way back to the agent.
  returnTo: safeUrl.optional(),
});

type Deps = Pick<AdminDeps, 'directory' | 'credentials' | 'tickets' | 'linkSignInAllowed'>;

/** Said at the start too. */
export const LINK_ALONE_REFUSED =
  'People cannot sign in by link alone at a public address: set "signIn" of the tenant to mode oidc or handoff, or KEYBEARER_ALLOW_LINK_SIGN_IN=true.';

export function connectLinkRoutes(deps: Deps): readonly AdminRoute[] {
  return [
    {
      method: 'post',
      path: '/tenants/{tenant}/connect-links',
      access: 'tenant',
      handle: (request) => createLink(deps, request),
    },
  ];
}

async function createLink(deps: Deps, { tenant, body }: TenantRequest): Promise<Answer> {
  const { principal, servers } = parseBody(linkSchema, body);
  const principalId = parsePrincipalId(principal);
  if (principalId === undefined)
    throw invalidAt('$.principal', 'must be printable text of 1 to 512 characters without blanks around it');
  const server =
    servers === undefined ? await findOnlyMissing(deps, tenant.id, principalId) : getNamed(deps, tenant.id, servers);
  // The page would refuse whoever opens it.
  if (tenant.signIn.mode === 'link' && !deps.linkSignInAllowed()) throw conflict(LINK_ALONE_REFUSED);
  const { url, expiresAt } = await deps.tickets.issue(tenant.id, principalId, server);
  return created({ url, expiresAt: toTime(expiresAt), server: server.name });
}

function getNamed({ directory }: Deps, tenantId: TenantId, names: readonly string[]): UpstreamServer {
  const [name = ''] = names;
  if (names.length > 1) throw invalidAt('$.servers', 'a link is for one server in this version');
  const found = directory.find(tenantId, name);
  const server = found?.server;
  if (server === undefined || !server.enabled)
    throw invalidAt('$.servers[0]', `is no working server of this tenant${whyNot(found)}`);
  if (!needsPerson(server)) throw invalidAt('$.servers[0]', 'needs nobody to sign in');
  return server;
}

function whyNot(found: RegisteredServer | undefined): string {
  const [problem] = found?.problems ?? [];
  if (problem !== undefined) return `: its definition does not hold, ${problem.path} ${problem.message}`;
  return found === undefined ? '' : ': it is not enabled';
}

async function findOnlyMissing(deps: Deps, tenantId: TenantId, principalId: PrincipalId): Promise<UpstreamServer> {
  const candidates = deps.directory
    .list(tenantId)
    .flatMap(({ server }) => (server?.enabled === true && needsPerson(server) ? [server] : []));
  const missing = await Promise.all(candidates.map((server) => isMissing(deps, server, principalId)));
  const [first, ...others] = candidates.filter((_, index) => missing[index]);
  if (first === undefined) throw invalidAt('$.servers', 'no server waits for this person to sign in');
  if (others.length > 0)
    throw invalidAt('$.servers', `name one of: ${[first, ...others].map(({ name }) => name).join(', ')}`);
  return first;
}

async function isMissing({ credentials }: Deps, server: UpstreamServer, principalId: PrincipalId): Promise<boolean> {
  const stored = await credentials.find(server.tenantId, server.id, ownerKey({ kind: 'principal', principalId }));
  return stored === undefined || stored.binding !== bindingOf(server);
}
