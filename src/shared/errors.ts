// One class tree for everything that goes wrong on purpose. `message` and `data` may be shown to
// the agent; `cause` is for our own log only. The edges hold the table from code to wire.

/** What the receiver of an error can do about it; see docs/reference/errors.md. */
export type ErrorCode =
  | 'unauthenticated'
  | 'insufficient_scope'
  | 'invalid_request'
  | 'not_found'
  | 'denied'
  | 'approval_required'
  | 'sign_in_required'
  | 'credential_refused'
  | 'rate_limited'
  | 'overloaded'
  | 'stopping'
  | 'egress_denied'
  | 'upstream_unavailable'
  | 'upstream_timeout'
  | 'upstream_protocol'
  | 'cancelled'
  | 'internal';

/**
 * Its message is in words of ours, or of a server's with its secrets masked, so it may stand in the log. Every
 * other error is a library's, and libraries quote what they choke on: headers, addresses, pieces of tokens (T23).
 */
export class OwnError extends Error {}

export class ProxyError extends OwnError {
  readonly code: ErrorCode;
  /** Safe to show; becomes part of the agent's answer. */
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { data?: Readonly<Record<string, unknown>> | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ProxyError';
    this.code = code;
    this.data = options.data;
  }
}

/** The upstream said 401, or 403 that is not about scope. The request did not run (RFC 9110 §15.5.2). */
export class CredentialRefusedError extends ProxyError {
  /** The WWW-Authenticate value as it came, for discovery; never shown to an agent. */
  readonly challenge: string | undefined;
  readonly status: 401 | 403;
  /** 403 `insufficient_scope` (RFC 6750 §3.1): the scopes it names, perhaps none. Undefined for every other refusal. */
  readonly missingScopes: readonly string[] | undefined;

  constructor(status: 401 | 403, challenge: string | undefined, missingScopes?: readonly string[]) {
    super('credential_refused', 'The server refused the credential.');
    this.name = 'CredentialRefusedError';
    this.status = status;
    this.challenge = challenge;
    this.missingScopes = missingScopes;
  }
}

/** Which rule of the address guard an address broke; part of the agent's answer, so it never holds an address. */
export type EgressReason =
  | 'url'
  | 'scheme'
  | 'port'
  | 'host'
  | 'private_host'
  | 'private_address'
  | 'own_host'
  | 'dns_answer';

/** The address may not be reached from here: nothing was sent, and trying again changes nothing. */
export class EgressDeniedError extends ProxyError {
  readonly reason: EgressReason;

  /** @param detail which address and why, for our own log only */
  constructor(reason: EgressReason, detail?: string) {
    super('egress_denied', `The server's address may not be reached from here (${reason}).`, {
      data: { reason },
      ...(detail === undefined ? {} : { cause: new Error(detail) }),
    });
    this.name = 'EgressDeniedError';
    this.reason = reason;
  }
}

/** A person has to sign in at `url` before this can go on. */
export class SignInRequiredError extends ProxyError {
  readonly server: string;
  readonly url: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;

  /** @param why a sentence before the question, where more is known than that a sign-in is needed */
  constructor(server: string, url: string, expiresAt: number, why = `Sign-in needed for ${server}.`) {
    super('sign_in_required', `${why} Ask the person to open ${url} and then try again.`, {
      data: { server, url, expiresAt: new Date(expiresAt).toISOString() },
    });
    this.name = 'SignInRequiredError';
    this.server = server;
    this.url = url;
    this.expiresAt = expiresAt;
  }
}

/** Nothing of the request reached a running handler, so one more try is safe. */
export class NotRunError extends ProxyError {
  /** False when trying again at once would be rude: the server asked to wait. */
  readonly mayRetryNow: boolean;

  constructor(message: string, options: { cause?: unknown; waitMs?: number | undefined; mayRetryNow?: boolean } = {}) {
    super('upstream_unavailable', message, {
      cause: options.cause,
      data: options.waitMs === undefined ? undefined : { retryAfterMs: options.waitMs },
    });
    this.name = 'NotRunError';
    this.mayRetryNow = options.mayRetryNow ?? true;
  }
}

/** Turns whatever was thrown into a ProxyError; unknown things become `internal` with their cause kept. */
export function toProxyError(error: unknown): ProxyError {
  if (error instanceof ProxyError) return error;
  return new ProxyError('internal', 'Something went wrong inside the proxy.', { cause: error });
}
