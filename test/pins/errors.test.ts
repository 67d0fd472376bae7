// The error table is a promise to agents: pinned as literals, and the page says the same.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toProblem } from '../../src/admin/problem.ts';
import { ERROR_TABLE, toCallResult, toRpcError } from '../../src/agent/errors.ts';
import { type ErrorCode, NotRunError, ProxyError, SignInRequiredError } from '../../src/shared/errors.ts';

type Row = readonly [http: number, rpc: number, inCall: 'result' | 'error', carrier: number];

const PINNED: Readonly<Record<ErrorCode, Row>> = {
  unauthenticated: [401, 401, 'error', 401],
  insufficient_scope: [403, 403, 'error', 403],
  invalid_request: [400, -32602, 'error', 400],
  not_found: [404, -32602, 'error', 200],
  denied: [403, 403, 'result', 200],
  approval_required: [403, 403, 'result', 200],
  sign_in_required: [403, 403, 'result', 200],
  credential_refused: [502, 403, 'result', 200],
  rate_limited: [429, 429, 'result', 200],
  overloaded: [503, 503, 'error', 503],
  stopping: [503, 503, 'error', 503],
  egress_denied: [502, -32603, 'result', 200],
  upstream_unavailable: [502, -32603, 'result', 200],
  upstream_timeout: [504, -32603, 'result', 200],
  upstream_protocol: [502, -32603, 'result', 200],
  cancelled: [503, 499, 'error', 202],
  internal: [500, -32603, 'error', 500],
};

const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8');
const ROW = /^\| `(\w+)` \| [^|]+ \| (\d+) \| (-?\d+) \| an? (result|error) \| (\d+) \|$/gm;

describe('the error table', () => {
  it('is what was promised', () => {
    const table = Object.fromEntries(
      Object.entries(ERROR_TABLE).map(([code, { http, rpc, inCall, carrier }]) => [code, [http, rpc, inCall, carrier]]),
    );
    expect(table).toEqual(PINNED);
  });

  it('is on the page, in the same order and with the same numbers', () => {
    const rows = [...page.matchAll(ROW)].map(([, code, http, rpc, inCall, carrier]) => [
      code,
      [Number(http), Number(rpc), inCall, Number(carrier)],
    ]);
    expect(rows).toEqual(Object.entries(PINNED));
  });

  it('is what the admin API answers with', () => {
    const statuses = Object.keys(PINNED).map((code) => [
      code,
      toProblem(new ProxyError(code as ErrorCode, 'Something.'))?.status ?? 500,
    ]);
    expect(statuses).toEqual(Object.entries(PINNED).map(([code, [http]]) => [code, http]));
  });

  it('uses no code of the range that JSON-RPC reserves for others (−32768 to −32000), but for two that it defines itself', () => {
    const reserved = Object.values(PINNED)
      .map(([, rpc]) => rpc)
      .filter((rpc) => rpc < 0);
    expect(new Set(reserved)).toEqual(new Set([-32602, -32603]));
  });
});

describe('an error on the wire', () => {
  it('has the word beside whatever else is safe to show', () => {
    const error = new ProxyError('overloaded', 'Try again.', {
      data: { retryAfterMs: 1_500 },
      cause: new Error('inner'),
    });
    expect(toRpcError(error)).toEqual({
      error: { code: 503, message: 'Try again.', data: { error: 'overloaded', retryAfterMs: 1_500 } },
      carrier: 503,
      retryAfterMs: 1_500,
    });
  });

  it('tells the model where the model or its person can do something', () => {
    const signIn = new SignInRequiredError('linear', 'http://x/connect/a', 0);
    expect(toCallResult(signIn)).toEqual({
      content: [
        {
          type: 'text',
          text: 'Sign-in needed for linear. Ask the person to open http://x/connect/a and then try again.',
        },
      ],
      structuredContent: {
        error: 'sign_in_required',
        server: 'linear',
        url: 'http://x/connect/a',
        expiresAt: '1970-01-01T00:00:00.000Z',
      },
      isError: true,
    });
    expect(toCallResult(new NotRunError('Busy.', { waitMs: 3_000 }))).toMatchObject({
      structuredContent: { error: 'upstream_unavailable', retryAfterMs: 3_000 },
    });
  });

  it('tells the client where it has to act, in a call as elsewhere', () => {
    for (const [code, [, , inCall]] of Object.entries(PINNED)) {
      const told = toCallResult(new ProxyError(code as ErrorCode, 'Something.'));
      expect(told === undefined ? 'error' : 'result', code).toBe(inCall);
    }
  });

  it('shows nothing of what went wrong inside', () => {
    const surprise = new Error('password=hunter2 at /home/x');
    expect(toCallResult(surprise)).toBeUndefined();
    expect(JSON.stringify(toRpcError(surprise))).not.toMatch(/hunter2|home/);
    expect(toRpcError('a text that was thrown')).toMatchObject({
      error: { code: -32603, data: { error: 'internal' } },
      carrier: 500,
    });
  });
});
