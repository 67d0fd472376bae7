// Keys that an admin keeps for a person or for the tenant. What was put in never comes out: answers show metadata.
import { z } from 'zod';
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { OAuthUnavailable, type TokenSet } from '../credential/authorization-server.ts';
import type { Owner } from '../credential/credential.ts';
import type { StoredCredential } from '../credential/credential-store.ts';
import { ProxyError } from '../shared/errors.ts';
import { type PrincipalId, parsePrincipalId } from '../shared/id.ts';
import { describeError } from '../shared/logger.ts';
import { Secret } from '../shared/secret.ts';
import { withinTime } from '../shared/within-time.ts';
import { parseBody } from './body.ts';
import { readPage, toPage } from './page.ts';
import type { AdminDeps, RegisteredServer } from './ports.ts';
import { conflict, invalidAt, notFound, quoted } from './problem.ts';
import { type AdminRoute, type Answer, done, ok, type TenantRequest, toTime } from './route.ts';
import { getServer } from './servers.ts';

const secretSchema = z.strictObject({ secret: z.string() });
const tokenText = z.string().regex(/^[\x21-\x7e]{1,16384}$/, 'must be a token: 1 to 16384 visible ASCII characters');
const oauthSchema = z.strictObject({
  oauth: z.strictObject({
    accessToken: tokenText,
    refreshToken: tokenText.optional(),
    /** Seconds. */
    expiresIn: z.number().min(0).max(315_360_000).optional(),
    scope: z.string().max(8192).optional(),
  }),
});
const IMPORT_MS = 30_000;

type Deps = Pick<
  AdminDeps,
  'directory' | 'credentials' | 'keeper' | 'importGrant' | 'disconnect' | 'signedIn' | 'clock' | 'logger'
>;
type OwnerOf = (request: TenantRequest) => Owner;

export function credentialRoutes(deps: Deps): readonly AdminRoute[] {
  const server = '/tenants/{tenant}/servers/{name}';
  const tenants: OwnerOf = () => ({ kind: 'tenant' });
  const persons: OwnerOf = ({ param }) => ({ kind: 'principal', principalId: requirePrincipal(param('principal')) });
  const both = (path: string, ownerOf: OwnerOf): readonly AdminRoute[] => [
    { method: 'put', path, access: 'tenant', handle: (request) => keep(deps, request, ownerOf(request)) },
    { method: 'delete', path, access: 'tenant', handle: (request) => remove(deps, request, ownerOf(request)) },
  ];
  return [
    ...both(`${server}/credentials/{principal}`, persons),
    ...both(`${server}/credential`, tenants),
    {
      method: 'get',
      path: '/tenants/{tenant}/credentials',
      access: 'tenant',
      handle: (request) => list(deps, request),
    },
  ];
}

function requirePrincipal(text: string): PrincipalId {
  const principalId = parsePrincipalId(text);
  if (principalId === undefined)
    throw invalidAt('$', 'the principal in the path must be printable text of 1 to 512 characters');
  return principalId;
}

async function keep(deps: Deps, { tenant, param, body }: TenantRequest, owner: Owner): Promise<Answer> {
  const { server } = getServer(deps, tenant.id, param('name'));
  if (server === undefined) throw conflict("The server's definition does not hold; correct it first.");
  const isImport = typeof body === 'object' && body !== null && 'oauth' in body;
  const { version } = isImport
    ? await importOr422(deps, server, owner, readTokens(body))
    : await keepOr422(deps, server, owner, parseBody(secretSchema, body).secret);
  await announce(deps, server, owner);
  const kind = isImport ? 'oauth' : 'secret';
  return ok({ server: server.name, ...ownerView(owner), kind, version, updatedAt: toTime(deps.clock.now()) });
}

function readTokens(body: unknown): TokenSet {
  const { accessToken, refreshToken, expiresIn, scope } = parseBody(oauthSchema, body).oauth;
  return {
    accessToken: new Secret(accessToken),
    refreshToken: refreshToken === undefined ? undefined : new Secret(refreshToken),
    expiresInS: expiresIn,
    scopes: scope?.split(' ').filter((one) => one !== ''),
  };
}

/** Where the tokens can be renewed is found out now; a server that cannot be asked takes none. */
async function importOr422(
  { importGrant, clock }: Deps,
  server: UpstreamServer,
  owner: Owner,
  tokens: TokenSet,
): Promise<{ readonly version: string }> {
  const tooLate = (): Error => new ProxyError('upstream_unavailable', 'The sign-in server was not found in time.');
  try {
    return await withinTime(clock, IMPORT_MS, tooLate, (signal) => importGrant(server, owner, tokens, signal));
  } catch (error) {
    if (error instanceof ProxyError && error.code === 'invalid_request') throw invalidAt('$.oauth', error.message);
    if (error instanceof OAuthUnavailable) throw new ProxyError('upstream_unavailable', error.message);
    throw error;
  }
}

async function keepOr422(
  { keeper }: Deps,
  server: UpstreamServer,
  owner: Owner,
  secret: string,
): Promise<{ readonly version: string }> {
  try {
    return await keeper.keep(server, owner, secret);
  } catch (error) {
    if (error instanceof ProxyError && error.code === 'invalid_request') throw invalidAt('$.secret', error.message);
    throw error;
  }
}

/** The key is kept by now; whether the server likes it shows in the server's status. */
async function announce({ signedIn, logger }: Deps, server: UpstreamServer, owner: Owner): Promise<void> {
  try {
    await signedIn(server, owner);
  } catch (error) {
    logger.warn(
      { tenantId: server.tenantId, server: server.name, error: describeError(error) },
      'tools were not refreshed after a credential was kept',
    );
  }
}

async function remove(deps: Deps, { tenant, param }: TenantRequest, owner: Owner): Promise<Answer> {
  const { id, server } = getServer(deps, tenant.id, param('name'));
  // Of a definition that does not hold nobody knows where to revoke.
  const wasThere =
    server === undefined ? await deps.keeper.remove(tenant.id, id, owner) : await deps.disconnect(server, owner);
  if (!wasThere) throw notFound(`credential ${whoseIs(owner)} for the server ${quoted(param('name'))}`);
  return done;
}

const whoseIs = (owner: Owner): string =>
  owner.kind === 'tenant' ? 'of the tenant' : `of ${quoted(owner.principalId)}`;

async function list({ credentials, directory }: Deps, { tenant, query }: TenantRequest): Promise<Answer> {
  const { cursor, limit } = readPage(query);
  const { items, next } = await credentials.list(tenant.id, cursor, limit);
  const servers = new Map(directory.list(tenant.id).map((registered) => [registered.id, registered]));
  return ok(
    toPage(
      items.map((stored) => toView(stored, servers.get(stored.serverId))),
      next,
    ),
  );
}

function toView(
  { owner, kind, version, updatedAt, binding, details }: StoredCredential,
  registered: RegisteredServer | undefined,
): Readonly<Record<string, unknown>> {
  const server = registered?.server;
  // Kept for an address the server no longer has: the person is asked again (T11).
  const usable = server !== undefined && bindingOf(server) === binding;
  return {
    server: registered?.name ?? null,
    ...storedOwnerView(owner),
    // What the definition calls it.
    kind: kind === 'grant' ? (server?.credential?.kind ?? 'oauth') : kind,
    version,
    updatedAt: toTime(updatedAt),
    usable,
    ...details,
  };
}

export function ownerView(owner: Owner): { readonly owner: Owner['kind']; readonly principal: string | null } {
  return { owner: owner.kind, principal: owner.kind === 'principal' ? owner.principalId : null };
}

/** The reverse of `ownerKey`: '' is the tenant, `p:` goes before a principal. */
function storedOwnerView(key: string): { readonly owner: Owner['kind']; readonly principal: string | null } {
  return key === '' ? { owner: 'tenant', principal: null } : { owner: 'principal', principal: key.slice('p:'.length) };
}
