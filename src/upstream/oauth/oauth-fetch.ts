// The fetch of everything OAuth, over the one way out: no redirects, bounded in size and time, https
// unless the operator allows otherwise (T8). Carries no credential of its own.
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { OAuthUnavailable } from '../../credential/authorization-server.ts';
import type { Clock } from '../../shared/clock.ts';
import { startDeadline } from '../../shared/deadline.ts';
import { ProxyError } from '../../shared/errors.ts';
import type { TenantId } from '../../shared/id.ts';
import { addressProblem, type MayUseHttp } from './address.ts';
import { bareCause } from './errors.ts';

const MAX_ANSWER_BYTES = 256 * 1024;
const REQUEST_MS = 10_000;
/**
 * Of a token endpoint: an answer that comes too late may hold the only refresh token that is still good, so
 * it is waited for longer.
 */
export const TOKEN_MS = 20_000;

export interface OAuthRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** The body is not read: it may be a stream that never ends. */
  readonly headOnly?: boolean;
  /** Bound on all of it, in milliseconds. */
  readonly withinMs?: number;
  readonly signal: AbortSignal;
}

export interface OAuthAnswer {
  readonly status: number;
  readonly headers: Pick<Headers, 'get'>;
  readonly body: string;
}

/**
 * Gives any answer, whatever its status. Throws OAuthUnavailable when there is none, ProxyError when the
 * address may not be asked, and the signal's reason.
 */
export type OAuthFetch = (request: OAuthRequest) => Promise<OAuthAnswer>;

export interface OAuthFetchDeps {
  /** The one way out: each tenant's sockets are its own, so none carries the secrets of two. */
  readonly fetchOf: (tenantId: TenantId) => FetchLike;
  readonly clock: Clock;
  readonly mayUseHttp: MayUseHttp;
}

export function createOAuthFetch({ fetchOf, clock, mayUseHttp }: OAuthFetchDeps, tenantId: TenantId): OAuthFetch {
  const fetch = fetchOf(tenantId);
  return async ({ url, method, headers, body, headOnly = false, withinMs = REQUEST_MS, signal }) => {
    const problem = addressProblem(url, mayUseHttp);
    if (problem !== undefined) throw new ProxyError('upstream_protocol', `An address of the sign-in ${problem}.`);
    const deadline = startDeadline(clock, signal, withinMs, withinMs, tookTooLong);
    try {
      const response = await fetch(url, {
        method,
        headers: { ...headers, 'accept-encoding': 'identity' },
        ...(body === undefined ? {} : { body }),
        redirect: 'manual',
        signal: deadline.signal,
      });
      const text = headOnly ? await leave(response) : await readBounded(response);
      return { status: response.status, headers: response.headers, body: text };
    } catch (error) {
      throw deadline.signal.aborted ? deadline.signal.reason : failureOf(error);
    } finally {
      deadline.end();
    }
  };
}

const tookTooLong = (): Error => new OAuthUnavailable('The sign-in server did not answer in time.');

async function leave(response: Response): Promise<string> {
  await response.body?.cancel();
  return '';
}

async function readBounded(response: Response): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the stream, and with it the socket.
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new OAuthUnavailable('The sign-in server sent more than is read.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function failureOf(error: unknown): unknown {
  if (error instanceof OAuthUnavailable) return error;
  // The address guard's word is kept: it tells what an admin has to allow.
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof ProxyError) return cause;
  return new OAuthUnavailable('The sign-in server could not be reached.', undefined, bareCause(error));
}
