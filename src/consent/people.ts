// Browser sessions: who the person in front of a browser was proved to be. No agent is let in by one.
import { timingSafeEqual } from 'node:crypto';
import { proofOf } from '../identity/browser-person.ts';
import type { BrowserSessionStore } from '../identity/browser-session-store.ts';
import type { Tenant } from '../identity/tenant-store.ts';
import type { Clock } from '../shared/clock.ts';
import { type PrincipalId, randomId, type TenantId } from '../shared/id.ts';
import type { BrowserRequest } from './answer.ts';
import { type Cookie, removed } from './cookies.ts';
import { derive, sha256 } from './keepsake.ts';

const SESSION_COOKIE = 'kb_session';
const SESSION_MS = 8 * 60 * 60_000;

export interface Person {
  readonly tenant: Tenant;
  /** All names of the one person; new sign-ins are made for the first. */
  readonly principals: readonly [PrincipalId, ...PrincipalId[]];
  /** Goes into the forms of this session: one for all pages, so that no page spoils another's form (B163). */
  readonly csrf: string;
  /** Tells one browser from another. */
  readonly sessionHash: Buffer;
}

export interface People {
  /** Undefined also when the tenant has people proved in another way by now. */
  find(request: BrowserRequest): Promise<Person | undefined>;
  /** A new session in place of the browser's old one; the cookie has to go out with the answer. */
  begin(request: BrowserRequest, tenant: Tenant, principals: readonly PrincipalId[]): Promise<Cookie>;
  end(request: BrowserRequest): Promise<Cookie>;
}

export interface PeopleDeps {
  readonly sessions: BrowserSessionStore;
  readonly findTenant: (tenantId: TenantId) => Promise<Tenant | undefined>;
  readonly linkSignInAllowed: () => boolean;
  readonly clock: Clock;
}

export function createPeople({ sessions, findTenant, linkSignInAllowed, clock }: PeopleDeps): People {
  const forget = async (request: BrowserRequest): Promise<void> => {
    const text = request.cookie(SESSION_COOKIE);
    if (text !== undefined) await sessions.remove(sha256(text));
  };
  return {
    async find(request) {
      const text = request.cookie(SESSION_COOKIE);
      const session = text === undefined ? undefined : await sessions.find(sha256(text), clock.now());
      if (text === undefined || session === undefined) return undefined;
      const tenant = await findTenant(session.tenantId);
      if (tenant === undefined || proofOf(tenant.signIn) !== session.proof) return undefined;
      if (tenant.signIn.mode === 'link' && !linkSignInAllowed()) return undefined;
      const [first, ...others] = session.principals;
      return first === undefined
        ? undefined
        : { tenant, principals: [first, ...others], csrf: derive(text, 'csrf'), sessionHash: sha256(text) };
    },
    async begin(request, tenant, principals) {
      await forget(request);
      const text = randomId();
      const expiresAt = clock.now() + SESSION_MS;
      const session = { tenantId: tenant.id, hash: sha256(text), principals, proof: proofOf(tenant.signIn), expiresAt };
      await sessions.create(session, clock.now());
      return { name: SESSION_COOKIE, value: text, maxAgeS: SESSION_MS / 1000 };
    },
    async end(request) {
      await forget(request);
      return removed(SESSION_COOKIE);
    },
  };
}

/** Whether a form came from a page that was made for this person's session, where there is one (T25). */
export function isOwnForm(request: BrowserRequest, person: Person | undefined): boolean {
  return person === undefined || timingSafeEqual(sha256(request.field('csrf')), sha256(person.csrf));
}

/** Compared byte for byte (B223); a session of another tenant is nobody here. */
export function isPerson(person: Person | undefined, tenantId: TenantId, principalId: PrincipalId): boolean {
  return person !== undefined && person.tenant.id === tenantId && person.principals.includes(principalId);
}
