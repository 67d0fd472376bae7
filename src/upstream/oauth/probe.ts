// Asks a server for its challenge, by knocking without a key. Any other answer means that it has none to
// give, and then the well-known addresses are all there is.
import type { HttpTransport } from '../../catalog/upstream-server.ts';
import { OAuthUnavailable } from '../../credential/authorization-server.ts';
import type { OAuthFetch, OAuthRequest } from './oauth-fetch.ts';

/**
 * The admin's static headers are left out: they may be secrets, and this request is about having none. Not
 * `initialize`, which some servers answer for anybody, and then keep a session that nobody ends.
 */
function knockOf({ kind, url }: HttpTransport): Omit<OAuthRequest, 'signal'> {
  if (kind === 'sse') return { url, method: 'GET', headers: { accept: 'text/event-stream' }, headOnly: true };
  return {
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'tools/list', params: {} }),
    headOnly: true,
  };
}

export async function askForChallenge(
  fetch: OAuthFetch,
  transport: HttpTransport,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { status, headers } = await fetch({ ...knockOf(transport), signal });
    return status === 401 ? (headers.get('www-authenticate') ?? undefined) : undefined;
  } catch (error) {
    // Whether it is down or only slow to greet shows when its documents are asked for.
    if (error instanceof OAuthUnavailable && !signal.aborted) return undefined;
    throw error;
  }
}
