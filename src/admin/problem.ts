// What the admin API says when it refuses: one class here, one problem document on the wire (RFC 9457).
import type { AddressRule } from '../catalog/address-rule.ts';
import type { Problem } from '../catalog/upstream-server.ts';
import { type ErrorCode, ProxyError } from '../shared/errors.ts';

export class AdminProblem extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];
  readonly headers: Readonly<Record<string, string>>;

  /** `detail` is shown; it never repeats what a body said. */
  constructor(
    status: number,
    detail: string,
    problems: readonly Problem[] = [],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.name = 'AdminProblem';
    this.status = status;
    this.problems = problems;
    this.headers = headers;
  }
}

export interface ProblemDocument {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly problems?: readonly Problem[];
}

export const invalid = (problems: readonly Problem[]): AdminProblem =>
  new AdminProblem(422, 'The request does not hold; see "problems".', problems);
export const invalidAt = (path: string, message: string): AdminProblem => invalid([{ path, message }]);
/** `what` names the kind, for whoever may see the tenant. */
export const notFound = (what: string): AdminProblem => new AdminProblem(404, `There is no ${what}.`);
/** A name from the address, to be shown back. */
export const quoted = (name: string): string => JSON.stringify(name.slice(0, 128));
export const conflict = (detail: string): AdminProblem => new AdminProblem(409, detail);
export const forbidden = (detail: string): AdminProblem => new AdminProblem(403, detail);

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** Throws a 422 for an address that may not be asked. */
export function requireAddress(rule: AddressRule, path: string, url: string): void {
  const problem = rule(url);
  if (problem !== undefined) throw invalidAt(path, problem);
}

export function toDocument({ status, message, problems }: AdminProblem): ProblemDocument {
  const document = { type: 'about:blank', title: TITLES[status] ?? 'Error', status, detail: message } as const;
  return problems.length === 0 ? document : { ...document, problems };
}

const STATUS: Readonly<Record<ErrorCode, number>> = {
  unauthenticated: 401,
  insufficient_scope: 403,
  invalid_request: 400,
  not_found: 404,
  denied: 403,
  approval_required: 403,
  sign_in_required: 403,
  credential_refused: 502,
  rate_limited: 429,
  overloaded: 503,
  stopping: 503,
  egress_denied: 502,
  upstream_unavailable: 502,
  upstream_timeout: 504,
  upstream_protocol: 502,
  cancelled: 503,
  internal: 500,
};

/** Undefined for what is our own fault: that is logged, and not described to anyone. */
export function toProblem(error: unknown): AdminProblem | undefined {
  if (error instanceof AdminProblem) return error;
  if (error instanceof ProxyError)
    return error.code === 'internal'
      ? undefined
      : new AdminProblem(STATUS[error.code], error.message, [], retryAfter(error));
  return bodyProblem(error);
}

function retryAfter({ data }: ProxyError): Readonly<Record<string, string>> {
  const ms = data?.['retryAfterMs'];
  return typeof ms === 'number' ? { 'Retry-After': String(Math.ceil(ms / 1000)) } : {};
}

const BODY_PROBLEMS: Readonly<Record<number, string>> = {
  400: 'The address is not well-formed, or the body did not come whole.',
  413: 'The body is larger than 1 MiB.',
  415: 'The body must be JSON in UTF-8.',
};

/** body-parser and the router mark what the other side did wrong with a status; their messages quote the body. */
function bodyProblem(error: unknown): AdminProblem | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { status, type, message } = error as Readonly<Record<string, unknown>>;
  if (typeof status !== 'number' || status < 400 || status > 499) return undefined;
  if (type === 'entity.parse.failed') return new AdminProblem(status, `The body is not JSON${placeIn(message)}.`);
  return new AdminProblem(status, BODY_PROBLEMS[status] ?? 'The request could not be read.');
}

/** The parser says it in words only, and not always; nothing else of them is repeated. */
function placeIn(message: unknown): string {
  const text = typeof message === 'string' ? message : '';
  if (text === 'Unexpected end of JSON input') return ': it ends too early';
  const position = / at position (\d{1,7})(?: \(line \d+ column \d+\))?$/.exec(text)?.[1];
  return position === undefined ? '' : `: look at character ${String(Number(position) + 1)}`;
}
