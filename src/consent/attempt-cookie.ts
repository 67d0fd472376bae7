// The cookies that tie a sign-in at another site to the browser that began it: one pair for each attempt.
import type { SignInAttempt } from '../credential/sign-in-flows.ts';
import type { BrowserRequest } from './answer.ts';
import type { Cookie } from './cookies.ts';
import { purposeOf } from './keepsake.ts';

const ATTEMPT_S = 600;
/** An id becomes part of a cookie's name. */
const ID = /^[A-Za-z0-9_-]{1,128}$/;

const cookieOf = (id: string): string => `kb_flow_${id}`;
const reasonOf = (id: string): string => `kb_end_${id}`;

/** Set only when the person has agreed on our page (T1). */
export function attemptCookie(id: string, text: string): Cookie {
  if (!ID.test(id)) throw new TypeError('not an id that a cookie can be named by');
  return { name: cookieOf(id), value: text, maxAgeS: ATTEMPT_S };
}

/** The ticket it was begun with; undefined when another browser began it. */
export function ticketOf(request: BrowserRequest, { id, browserHash }: SignInAttempt): string | undefined {
  return purposeOf(request.cookie(cookieOf(id)), browserHash);
}

/** Why it failed, kept where it is shown: on whatever node the next page is asked for. */
export function reasonCookie(id: string, reason: string): Cookie {
  return { name: reasonOf(id), value: Buffer.from(reason).toString('base64url'), maxAgeS: ATTEMPT_S };
}

export function keptReason(request: BrowserRequest, id: string): string | undefined {
  const value = request.cookie(reasonOf(id));
  return value === undefined ? undefined : Buffer.from(value, 'base64url').toString();
}
