// The issuers whose signed tokens a tenant accepts.
import { z } from 'zod';
import { SIGNATURE_ALGORITHMS } from '../identity/signature-algorithms.ts';
import type { Issuer } from '../identity/tenant-store.ts';
import { line, orNull, parseBody, safeUrl } from './body.ts';
import { pageOf, readPage } from './page.ts';
import type { AdminDeps } from './ports.ts';
import { AdminProblem, conflict, invalidAt, notFound, requireAddress } from './problem.ts';
import { type AdminRoute, type Answer, done, ok, type TenantRequest } from './route.ts';

const DEFAULT_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
const MAX_KEYS = 50;

/** A private or symmetric key in here would be stored, and shown, in clear. */
const publicKey = z
  .record(z.string(), z.json())
  .refine(
    (key) => typeof key['kty'] === 'string' && key['kty'] !== 'oct' && !('d' in key) && !('k' in key),
    'must be a public key',
  );

const issuerSchema = z.strictObject({
  // Not always a URL: there are issuers like `accounts.google.com`. A `#` would make two principals one.
  issuer: z
    .string()
    .min(1)
    .max(512)
    .regex(/^[\x21\x22\x24-\x7e]+$/, 'must be visible ASCII without blanks and "#"'),
  jwksUri: orNull(safeUrl),
  jwks: orNull(z.strictObject({ keys: z.array(publicKey).min(1).max(MAX_KEYS) })),
  audience: line(512),
  principalClaim: line(128).default('sub'),
  tenantClaim: orNull(line(128)),
  algorithms: z
    .array(z.enum(SIGNATURE_ALGORITHMS))
    .min(1)
    .default([...DEFAULT_ALGORITHMS]),
});

type Deps = Pick<AdminDeps, 'issuers' | 'definitions'>;

export function issuerRoutes(deps: Deps): readonly AdminRoute[] {
  const path = '/tenants/{tenant}/issuers';
  const put = (status: number) => (request: TenantRequest) => putIssuer(deps, request, status);
  return [
    { method: 'get', path, access: 'tenant', handle: (request) => listIssuers(deps, request) },
    { method: 'post', path, access: 'tenant', handle: put(201) },
    { method: 'put', path, access: 'tenant', handle: put(200) },
    { method: 'delete', path, access: 'tenant', handle: (request) => removeIssuer(deps, request) },
  ];
}

async function listIssuers({ issuers }: Deps, { tenant, query }: TenantRequest): Promise<Answer> {
  const page = pageOf(await issuers.list(tenant.id), ({ issuer }) => issuer, readPage(query));
  return ok({ ...page, items: page.items.map(toView) });
}

async function putIssuer(
  { issuers, definitions }: Deps,
  { tenant, body }: TenantRequest,
  status: number,
): Promise<Answer> {
  const registration = parseBody(issuerSchema, body);
  if ((registration.jwksUri === undefined) === (registration.jwks === undefined)) {
    throw invalidAt('$.jwksUri', 'exactly one of "jwksUri" and "jwks" is needed');
  }
  if (registration.jwksUri !== undefined) requireAddress(definitions.addressRule, '$.jwksUri', registration.jwksUri);
  const issuer: Issuer = { ...registration, tenantId: tenant.id };
  await requireTellable(issuers, issuer);
  await issuers.put(issuer);
  return { status, body: toView(issuer) };
}

/**
 * A token that stands for two tenants is taken for neither, so a copy of another tenant's registration
 * would take that one out of force.
 */
async function requireTellable(issuers: Deps['issuers'], issuer: Issuer): Promise<void> {
  if (issuer.tenantClaim !== undefined) return;
  const others = (await issuers.findByIssuer(issuer.issuer)).filter(({ tenantId }) => tenantId !== issuer.tenantId);
  const isTaken = others.some(({ tenantClaim, audience }) => tenantClaim === undefined && audience === issuer.audience);
  if (isTaken) throw conflict('This issuer is registered for this audience already; register it with a "tenantClaim".');
}

async function removeIssuer({ issuers }: Deps, { tenant, query }: TenantRequest): Promise<Answer> {
  const issuer = query.get('issuer');
  if (issuer === null) throw new AdminProblem(400, 'Name the issuer: ?issuer=…');
  if (!(await issuers.remove(tenant.id, issuer))) throw notFound('such issuer in this tenant');
  return done;
}

function toView({
  issuer,
  jwksUri,
  jwks,
  audience,
  principalClaim,
  tenantClaim,
  algorithms,
}: Issuer): Readonly<Record<string, unknown>> {
  const keys = jwksUri === undefined ? { jwks } : { jwksUri };
  return { issuer, ...keys, audience, principalClaim, tenantClaim: tenantClaim ?? null, algorithms };
}
