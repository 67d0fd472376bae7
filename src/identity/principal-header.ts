// Reads `Keybearer-Principal`. Its value is UTF-8; Node hands header bytes over as Latin-1.
import { ProxyError } from '../shared/errors.ts';
import { type PrincipalId, parsePrincipalId } from '../shared/id.ts';

const PLAIN = /^[\x20-\x7e]+$/;

/**
 * Undefined when the header was not sent. Pass the raw list of values: `req.headers` joins
 * duplicates with a comma, which a principal's id may contain.
 */
export function parsePrincipalHeader(header: string | readonly string[] | undefined): PrincipalId | undefined {
  if (header === undefined) return undefined;
  const values = typeof header === 'string' ? [header] : header;
  if (values.length > 1) throw new ProxyError('invalid_request', 'Keybearer-Principal was sent more than once.');
  const value = values[0];
  if (value === undefined) return undefined;
  const principalId = parsePrincipalId(PLAIN.test(value) ? value : decodeUtf8(value));
  if (principalId !== undefined) return principalId;
  throw new ProxyError('invalid_request', 'Keybearer-Principal must be printable UTF-8 text of 1 to 512 characters.');
}

/** '' when the bytes are not UTF-8: replacing them would make two people one. */
function decodeUtf8(latin1: string): string {
  if (/[^\u0000-\u00ff]/.test(latin1)) return '';
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(latin1, 'latin1'));
  } catch {
    return '';
  }
}
