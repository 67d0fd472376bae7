// Proves a person at the tenant's own identity provider (mode `oidc`).
import type { OpenSignInSecret } from '../credential/sign-in-secret.ts';
import { principalsAt } from '../identity/browser-person.ts';
import type { BrowserSignInStore } from '../identity/browser-sign-in-store.ts';
import type { IdentityProvider, PersonRequest, PersonSignIn } from '../identity/person-sign-in.ts';
import type { SignIn, Tenant } from '../identity/tenant-store.ts';
import type { Clock } from '../shared/clock.ts';
import { parseTenantId, randomId, type TenantId } from '../shared/id.ts';
import { type Answer, type BrowserRequest, redirect, refuse } from './answer.ts';
import { AWAY_MS, type Departure, depart, findReturn, strangeReturn } from './away.ts';
import { inTime } from './in-time.ts';
import { derive, makeKeepsake, sha256 } from './keepsake.ts';
import type { People } from './people.ts';
import { toRefusal } from './refusal.ts';
import type { Site } from './site.ts';

export interface ProveOidcDeps {
  readonly signIns: BrowserSignInStore;
  readonly people: People;
  readonly personSignIn: PersonSignIn;
  readonly openSignInSecret: OpenSignInSecret;
  readonly findTenant: (tenantId: TenantId) => Promise<Tenant | undefined>;
  /** Whether agents of this tenant come with signed tokens of this issuer: then new sign-ins are for `issuer#value`. */
  readonly hasIssuer: (tenantId: TenantId, issuer: string) => Promise<boolean>;
  readonly clock: Clock;
}

type OidcSignIn = Extract<SignIn, { mode: 'oidc' }>;

export interface OidcStart {
  readonly tenantId: TenantId;
  readonly signIn: OidcSignIn;
  readonly target: string;
  /** The provider is to ask who it is, also when it knows somebody (OpenID Connect Core §3.1.2.1). */
  readonly asAnother: boolean;
}

export async function startOidc(
  { signIns, personSignIn, openSignInSecret, clock }: ProveOidcDeps,
  site: Site,
  { tenantId, signIn, target, asAnother }: OidcStart,
): Promise<Departure> {
  const id = randomId(16);
  const keepsake = makeKeepsake(target);
  const request = requestOf(site, tenantId, keepsake.text);
  const provider = await providerOf(openSignInSecret, tenantId, signIn);
  const url = new URL(await inTime(clock, (signal) => personSignIn.authorizationUrl(provider, request, signal)));
  if (asAnother) url.searchParams.set('prompt', 'login');
  const expiresAt = clock.now() + AWAY_MS;
  const stateHash = sha256(request.state);
  await signIns.create({ tenantId, id, mode: 'oidc', browserHash: keepsake.hash, stateHash, expiresAt }, clock.now());
  return depart(id, url.href, keepsake);
}

/** The way back. Everything is compared before anything is asked of the provider. */
export async function finishOidc(deps: ProveOidcDeps, request: BrowserRequest, tenantText: string): Promise<Answer> {
  const { signIns, people, openSignInSecret, clock } = deps;
  const tenantId = parseTenantId(tenantText);
  const [state, another] = request.query.getAll('state');
  if (tenantId === undefined || state === undefined || another !== undefined) return strangeReturn();
  const signIn = await signIns.findByState(tenantId, sha256(state), clock.now());
  const tenant = signIn && (await deps.findTenant(tenantId));
  const back = signIn && findReturn(request, signIn);
  if (signIn === undefined || back === undefined || tenant?.signIn.mode !== 'oidc') return strangeReturn();
  // Asked for twice by the same browser: the other answer lets the person in.
  if (!(await signIns.take(tenantId, signIn.id, clock.now()))) return redirect(back.path);
  const provider = await providerOf(openSignInSecret, tenantId, tenant.signIn);
  const value = await prove(deps, provider, requestOf(request.site, tenantId, back.held), request.query);
  if (typeof value !== 'string') return value;
  const principals = principalsAt(provider.issuer, value);
  if (principals.length === 0) return refuse(403, 'Your organisation gave you a name that cannot be used here.');
  const comesWithTokens = await deps.hasIssuer(tenantId, provider.issuer);
  const session = await people.begin(request, tenant, comesWithTokens ? principals : principals.toReversed());
  return redirect(back.path, [session]);
}

/** What the provider refuses is told; what else goes wrong is ours. */
async function prove(
  { personSignIn, clock }: ProveOidcDeps,
  provider: IdentityProvider,
  request: PersonRequest,
  query: URLSearchParams,
): Promise<string | Answer> {
  try {
    return await inTime(clock, (signal) => personSignIn.prove(provider, request, query, signal));
  } catch (error) {
    return toRefusal(error);
  }
}

async function providerOf(
  openSignInSecret: OpenSignInSecret,
  tenantId: TenantId,
  { issuer, clientId, clientSecret, principalClaim = 'sub' }: OidcSignIn,
): Promise<IdentityProvider> {
  const secret =
    clientSecret === undefined ? undefined : await openSignInSecret(tenantId, 'clientSecret', clientSecret, issuer);
  return { tenantId, issuer, clientId, clientSecret: secret, claim: principalClaim };
}

/** All made from what the browser holds, so a copy of the database is of no use to anybody (T22). */
function requestOf(site: Site, tenantId: TenantId, held: string): PersonRequest {
  return {
    redirectUri: site.url(`/connect/callback/${tenantId}`),
    state: derive(held, 'state'),
    nonce: derive(held, 'nonce'),
    verifier: derive(held, 'verifier'),
  };
}
