// Whether the person in front of a sign-in link is the one it was made for (T1). Pure.
import type { Ticket } from '../credential/ticket-store.ts';
import type { Tenant } from '../identity/tenant-store.ts';
import { isPerson, type Person } from './people.ts';

export type Standing =
  /** Proved to be the one; `person` is undefined where the link alone is the proof and there is no session yet. */
  | { readonly kind: 'right'; readonly person: Person | undefined }
  /** Somebody else of the tenant. */
  | { readonly kind: 'wrong'; readonly person: Person }
  /** Not known here, and has to be proved first. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused'; readonly reason: string };

export function standingOf(
  ticket: Pick<Ticket, 'tenantId' | 'principalId'>,
  { signIn }: Tenant,
  person: Person | undefined,
  linkAllowed: boolean,
): Standing {
  if (signIn.mode === 'link' && !linkAllowed)
    return { kind: 'refused', reason: 'signing in by a link alone is not allowed at this address.' };
  // Signed in at another tenant is not signed in.
  const here = person?.tenant.id === ticket.tenantId ? person : undefined;
  if (isPerson(here, ticket.tenantId, ticket.principalId)) return { kind: 'right', person: here };
  if (here !== undefined) return { kind: 'wrong', person: here };
  return signIn.mode === 'link' ? { kind: 'right', person: undefined } : { kind: 'unknown' };
}
