// How a renewal ends, and what a failed one says about the grant. Only an OAuth error can end one; an authorization server that
// is down, slow or talks nonsense says nothing about it (RFC 6749 §5.2).
import { ProxyError } from '../shared/errors.ts';
import { OAuthRefusal, OAuthUnavailable } from './authorization-server.ts';
import type { Opened } from './kept-credentials.ts';
import type { RenewalState } from './renewal-store.ts';

/** What became of a renewal. */
export type Renewed =
  /** A version newer than the outdated one. */
  | { readonly kind: 'renewed'; readonly opened: Opened }
  /** Only a new sign-in helps, or an admin where nobody signs in. */
  | { readonly kind: 'over' }
  /** Nothing is known about the grant, which is kept. */
  | { readonly kind: 'later'; readonly retryAfterMs: number; readonly reason: string };

export interface Verdict {
  readonly state: RenewalState;
  readonly renewed: Exclude<Renewed, { kind: 'renewed' }>;
  /** For the log. */
  readonly why: string;
}

export interface Circumstances {
  /** A person could sign in anew; what we ask for as ourselves is only ever asked for again. */
  readonly canEnd: boolean;
  /** It was a registration of ours, and is forgotten now. */
  readonly clientIsGone: boolean;
  /** A refusal may be about the caller's own token, and must not keep their other agents out. */
  readonly isAboutCaller: boolean;
}

export const FRESH: RenewalState = { version: undefined, spent: false, refusals: 0, failures: 0, retryAt: undefined };

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;
/** After an error that may or may not mean the grant: a second one, a minute later, is believed (B197). */
const REFUSALS_BELIEVED = 2;

/** Undefined for what is no answer of an authorization server: a fault of our own. */
export function afterFailure(
  error: unknown,
  state: RenewalState,
  now: number,
  circumstances: Circumstances,
): Verdict | undefined {
  if (error instanceof OAuthUnavailable) {
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(state.failures, 10));
    const retryAfterMs = Math.max(pause, error.retryAfterMs ?? 0);
    return {
      state: { ...state, failures: state.failures + 1, retryAt: now + retryAfterMs },
      renewed: { kind: 'later', retryAfterMs, reason: 'its sign-in server did not answer' },
      why: error.message,
    };
  }
  if (error instanceof OAuthRefusal) return afterRefusal(error.code, state, now, circumstances);
  // Discovery says what an admin has to do; asking again each second would not help.
  if (error instanceof ProxyError && error.code !== 'internal') {
    const reason = error.message.replace(/\.$/, '');
    return {
      state: { ...state, failures: state.failures + 1, retryAt: now + FIRST_PAUSE_MS },
      renewed: { kind: 'later', retryAfterMs: FIRST_PAUSE_MS, reason },
      why: error.message,
    };
  }
  return undefined;
}

function afterRefusal(
  code: string,
  state: RenewalState,
  now: number,
  { canEnd, clientIsGone, isAboutCaller }: Circumstances,
): Verdict {
  // An admin corrects a client that they entered; people need not sign in for that (B168).
  const isAdmins = code === 'invalid_client' && !clientIsGone;
  const refusals = isAdmins ? state.refusals : state.refusals + 1;
  const isOver = canEnd && !isAdmins && (code === 'invalid_grant' || clientIsGone || refusals >= REFUSALS_BELIEVED);
  const retryAfterMs = isAdmins ? FIRST_PAUSE_MS : LONGEST_PAUSE_MS;
  const reason = isAdmins
    ? 'its sign-in server does not accept this client; an admin has to check clientId and clientSecret'
    : 'its sign-in server refused to give a token';
  if (isAboutCaller && !isAdmins)
    return { state, renewed: { kind: 'later', retryAfterMs: FIRST_PAUSE_MS, reason }, why: code };
  return {
    state: { ...state, refusals, failures: 0, spent: isOver, retryAt: isOver ? undefined : now + retryAfterMs },
    renewed: isOver ? { kind: 'over' } : { kind: 'later', retryAfterMs, reason },
    why: code,
  };
}
