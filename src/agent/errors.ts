// The error table: what each of our codes becomes on HTTP and in MCP. A new code does not compile until
// it has a row here; docs/reference/errors.md shows the same table.
import { type ErrorCode, type ProxyError, toProxyError } from '../shared/errors.ts';
import type { JsonObject } from '../wire/reply.ts';

export interface ErrorRow {
  /** Outside of MCP, as the admin API answers. */
  readonly http: number;
  /** JSON-RPC code; our own are positive, outside the reserved range. */
  readonly rpc: number;
  /** How a failed tool call is told: to the model in a result, or to the client as a protocol error. */
  readonly inCall: 'result' | 'error';
  /** Status of the HTTP answer that carries the JSON-RPC error. */
  readonly carrier: number;
}

export const ERROR_TABLE: Readonly<Record<ErrorCode, ErrorRow>> = {
  unauthenticated: { http: 401, rpc: 401, inCall: 'error', carrier: 401 },
  insufficient_scope: { http: 403, rpc: 403, inCall: 'error', carrier: 403 },
  invalid_request: { http: 400, rpc: -32602, inCall: 'error', carrier: 400 },
  not_found: { http: 404, rpc: -32602, inCall: 'error', carrier: 200 },
  denied: { http: 403, rpc: 403, inCall: 'result', carrier: 200 },
  approval_required: { http: 403, rpc: 403, inCall: 'result', carrier: 200 },
  sign_in_required: { http: 403, rpc: 403, inCall: 'result', carrier: 200 },
  credential_refused: { http: 502, rpc: 403, inCall: 'result', carrier: 200 },
  rate_limited: { http: 429, rpc: 429, inCall: 'result', carrier: 200 },
  overloaded: { http: 503, rpc: 503, inCall: 'error', carrier: 503 },
  stopping: { http: 503, rpc: 503, inCall: 'error', carrier: 503 },
  egress_denied: { http: 502, rpc: -32603, inCall: 'result', carrier: 200 },
  upstream_unavailable: { http: 502, rpc: -32603, inCall: 'result', carrier: 200 },
  upstream_timeout: { http: 504, rpc: -32603, inCall: 'result', carrier: 200 },
  upstream_protocol: { http: 502, rpc: -32603, inCall: 'result', carrier: 200 },
  cancelled: { http: 503, rpc: 499, inCall: 'error', carrier: 202 },
  internal: { http: 500, rpc: -32603, inCall: 'error', carrier: 500 },
};

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: JsonObject;
}

/** `data.error` is the code's word, so that programs need not read the message. */
export function toRpcError(thrown: unknown): { error: RpcError; carrier: number; retryAfterMs: number | undefined } {
  const error = toProxyError(thrown);
  const row = ERROR_TABLE[error.code];
  return {
    error: { code: row.rpc, message: error.message, data: { error: error.code, ...error.data } },
    carrier: row.carrier,
    retryAfterMs: retryAfterOf(error),
  };
}

/** The result that tells the model what went wrong; undefined when the client has to be told instead. */
export function toCallResult(thrown: unknown): JsonObject | undefined {
  const error = toProxyError(thrown);
  if (ERROR_TABLE[error.code].inCall === 'error') return undefined;
  return {
    content: [{ type: 'text', text: error.message }],
    structuredContent: { error: error.code, ...error.data },
    isError: true,
  };
}

function retryAfterOf(error: ProxyError): number | undefined {
  const value = error.data?.['retryAfterMs'];
  return typeof value === 'number' ? value : undefined;
}
