// Why the database cannot be used, in words of ours: the driver and the server put the address, the user or what they
// could not read into theirs (T23).
import { OwnError, ProxyError } from './shared/errors.ts';

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address',
  ECONNRESET: 'it closed the connection',
  EHOSTUNREACH: 'its address cannot be reached',
  ENETUNREACH: 'its address cannot be reached',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name cannot be looked up at the moment',
  ETIMEDOUT: 'it does not answer',
  ENOENT: 'its socket, or a certificate named in the address, is not there',
  ERR_INVALID_URL: 'its address is not a URL',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by an authority that is not known',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by an authority that is not known',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by an authority that is not known',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

/** SQLSTATE, by its first characters: PostgreSQL manual, appendix A. The first that fits counts. */
const SAID: readonly (readonly [start: string, words: string])[] = [
  ['28', 'it does not accept the user or the password'],
  ['3D000', 'there is no database of that name'],
  ['42501', 'its user lacks a right that is needed'],
  ['42', 'its tables are not those of this version'],
  ['53300', 'it has no connection left'],
  ['53', 'it has run out of memory or space'],
  ['55000', 'it takes no connections'],
  ['55P03', 'another process holds a lock for too long'],
  ['57P', 'it is starting or stopping'],
  ['08', 'the connection broke'],
];

/** What the driver says without a code. */
const WITHOUT_CODE: Readonly<Record<string, string>> = {
  'timeout expired': 'it does not answer',
  'timeout exceeded when trying to connect': 'it does not answer',
  'Connection terminated due to connection timeout': 'it does not answer',
  'Query read timeout': 'it does not answer',
  'Connection terminated unexpectedly': 'it closed the connection',
  'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string': 'it wants a password, and its address has none',
  'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string':
    'it wants a password, and that in its address is empty',
  'The server does not support SSL connections': 'it does not speak TLS, which its address asks for',
};

/** The end of a sentence: "it does not accept the user or the password (28P01)". Words of ours are kept as they are. */
export function databaseTrouble(error: unknown): string {
  if (error instanceof OwnError && !(error instanceof ProxyError)) return error.message;
  // What the store says of a lost connection has the driver's own error behind it.
  const cause = error instanceof ProxyError && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return 'it cannot be asked';
  const { code } = cause as { readonly code?: unknown };
  if (typeof code !== 'string' || !/^[\dA-Z_]{2,64}$/.test(code))
    return WITHOUT_CODE[cause.message] ?? 'it does not answer as PostgreSQL does, or its address cannot be read';
  const words = UNREACHABLE[code] ?? SAID.find(([start]) => code.length === 5 && code.startsWith(start))?.[1];
  return words === undefined ? `it cannot be asked (${code})` : `${words} (${code})`;
}
