// Has a person proved by the product they use (mode `handoff`): the browser goes there with a flow id, the
// product says server to server who that is, and the browser comes back with a code.
import { timingSafeEqual } from 'node:crypto';
import type { OpenSignInSecret } from '../credential/sign-in-secret.ts';
import type { BrowserSignInStore } from '../identity/browser-sign-in-store.ts';
import type { SignIn, Tenant } from '../identity/tenant-store.ts';
import type { Clock } from '../shared/clock.ts';
import { parsePrincipalId, randomId, type TenantId } from '../shared/id.ts';
import { type Answer, type BrowserRequest, redirect } from './answer.ts';
import { AWAY_MS, type Departure, depart, findReturn, strangeReturn } from './away.ts';
import { makeKeepsake, sha256 } from './keepsake.ts';
import type { People } from './people.ts';
import type { Site } from './site.ts';

const CODE_MS = 2 * 60_000;

export interface ProveHandoffDeps {
  readonly signIns: BrowserSignInStore;
  readonly people: People;
  readonly openSignInSecret: OpenSignInSecret;
  readonly findTenant: (tenantId: TenantId) => Promise<Tenant | undefined>;
  readonly clock: Clock;
}

type HandoffSignIn = Extract<SignIn, { mode: 'handoff' }>;

export async function startHandoff(
  { signIns, clock }: ProveHandoffDeps,
  tenantId: TenantId,
  { verifyUrl }: HandoffSignIn,
  target: string,
): Promise<Departure> {
  const id = randomId(16);
  const keepsake = makeKeepsake(target);
  const url = new URL(verifyUrl);
  url.searchParams.set('flow', id);
  const expiresAt = clock.now() + AWAY_MS;
  await signIns.create(
    { tenantId, id, mode: 'handoff', browserHash: keepsake.hash, stateHash: undefined, expiresAt },
    clock.now(),
  );
  return depart(id, url.href, keepsake);
}

/** What the product sends, not looked at yet. */
export interface Confirmation {
  readonly authorization: string | undefined;
  readonly flow: unknown;
  readonly principal: unknown;
}

export type ConfirmationAnswer =
  | { readonly status: 200; readonly body: { readonly continue: string } }
  | {
      readonly status: 400 | 401 | 404 | 409;
      readonly body: { readonly error: string; readonly message: string };
    };

/** From the product's own server; the flow says which tenant's key it has to bring. */
export async function confirmHandoff(
  deps: ProveHandoffDeps,
  site: Site,
  { authorization, flow, principal }: Confirmation,
): Promise<ConfirmationAnswer> {
  const { signIns, clock } = deps;
  const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (key === undefined)
    return problem(401, 'unauthenticated', 'Send the handoff key of the tenant as a Bearer token.');
  const signIn = typeof flow === 'string' ? await signIns.find(flow, clock.now()) : undefined;
  const tenant = signIn && (await deps.findTenant(signIn.tenantId));
  // With another's key a flow is answered as one that never was (T15).
  if (
    signIn?.mode !== 'handoff' ||
    tenant?.signIn.mode !== 'handoff' ||
    !(await isKey(deps, tenant.id, tenant.signIn, key))
  )
    return problem(404, 'not_found', 'There is no such flow for this key: the flow is too old, or the key is wrong.');
  const principalId = typeof principal === 'string' ? parsePrincipalId(principal) : undefined;
  if (principalId === undefined)
    return problem(400, 'invalid_request', 'principal must be printable text of 1 to 512 characters.');
  const code = randomId();
  const confirmation = { principalId, codeHash: sha256(code), codeExpiresAt: clock.now() + CODE_MS };
  if (!(await signIns.confirm(tenant.id, signIn.id, confirmation, clock.now())))
    return problem(409, 'denied', 'The flow was used already, or confirmed for somebody else.');
  return { status: 200, body: { continue: site.url(`/connect/return?code=${code}`) } };
}

/** The way back. The code alone is worth nothing: only the browser that was sent away may use it. */
export async function finishHandoff(deps: ProveHandoffDeps, request: BrowserRequest): Promise<Answer> {
  const { signIns, people, clock } = deps;
  const [code, another] = request.query.getAll('code');
  if (code === undefined || another !== undefined) return strangeReturn();
  const signIn = await signIns.findByCode(sha256(code), clock.now());
  const tenant = signIn && (await deps.findTenant(signIn.tenantId));
  const back = signIn && findReturn(request, signIn);
  if (back === undefined || signIn?.principalId === undefined || tenant?.signIn.mode !== 'handoff')
    return strangeReturn();
  // Asked for twice by the same browser: the other answer lets the person in.
  if (!(await signIns.take(signIn.tenantId, signIn.id, clock.now()))) return redirect(back.path);
  return redirect(back.path, [await people.begin(request, tenant, [signIn.principalId])]);
}

async function isKey(
  { openSignInSecret }: ProveHandoffDeps,
  tenantId: TenantId,
  { key, verifyUrl }: HandoffSignIn,
  sent: string,
): Promise<boolean> {
  // Never '', which is what a tenant's key is for a moment while the tenant is being made.
  return timingSafeEqual(sha256(sent), sha256((await openSignInSecret(tenantId, 'key', key, verifyUrl)).reveal()));
}

function problem(status: 400 | 401 | 404 | 409, error: string, message: string): ConfirmationAnswer {
  return { status, body: { error, message } };
}
