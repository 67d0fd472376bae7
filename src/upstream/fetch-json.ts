// Reads a JSON document through the one door: no redirects, within bounds of size and time.
import { ProxyError } from '../shared/errors.ts';
import { type Door, exchangeOnce } from './http-exchange.ts';

const MAX_DOCUMENT_BYTES = 256 * 1024;

/** Throws `upstream_protocol` or `upstream_unavailable`; the caller bounds the time by `signal`. */
export async function fetchJson(
  door: Pick<Door, 'dispatcher' | 'clock'>,
  url: string,
  signal: AbortSignal,
): Promise<unknown> {
  const { origin, pathname, search } = new URL(url);
  const answer = await exchangeOnce(door, {
    origin,
    path: pathname + search,
    method: 'GET',
    headers: ['accept', 'application/json', 'accept-encoding', 'identity'],
    signal,
    maxBytes: MAX_DOCUMENT_BYTES,
  });
  if (answer.status !== 200)
    throw new ProxyError('upstream_protocol', `The document could not be read (HTTP status ${answer.status}).`);
  try {
    return JSON.parse(answer.body.toString('utf8')) as unknown;
  } catch {
    throw new ProxyError('upstream_protocol', 'The document is not JSON.');
  }
}
