// What kept us from a server, as a class of cause in words of ours. For admins: the words hold no address, and
// nothing of what a library or the other side wrote. Agents get the sentence without it.

/** Causes may go round in a circle. */
const MAX_CAUSES = 8;

const WORDS: Readonly<Record<string, readonly string[]>> = {
  'connection refused': ['ECONNREFUSED'],
  'its name does not resolve': ['ENOTFOUND', 'ENODATA', 'ENONAME', 'EBADNAME', 'EBADQUERY', 'ENODOMAIN'],
  'no name server answers for its name': ['EAI_AGAIN', 'ESERVFAIL', 'EREFUSED', 'ETIMEOUT', 'ECANCELLED', 'EBADRESP'],
  'connecting timed out': ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'],
  'no way leads there': ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'EADDRNOTAVAIL'],
  'the connection was reset': ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET'],
  'no TLS there; its URL may have to begin with http:': [
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_SSL_PACKET_LENGTH_TOO_LONG',
    'ERR_SSL_HTTP_REQUEST',
    'ERR_SSL_UNKNOWN_PROTOCOL',
    'EPROTO',
  ],
  'its certificate is of another name': ['ERR_TLS_CERT_ALTNAME_INVALID'],
  'its certificate has expired': ['CERT_HAS_EXPIRED'],
  'its certificate is not valid yet': ['CERT_NOT_YET_VALID'],
  'nobody who is trusted here signed its certificate': [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'CERT_UNTRUSTED',
  ],
};

const BY_CODE: ReadonlyMap<string, string> = new Map(
  Object.entries(WORDS).flatMap(([words, codes]) => codes.map((code) => [code, words] as const)),
);

/** Undefined where no cause with a known code is among the causes of `error`. */
export function causeWords(error: unknown): string | undefined {
  let cause = error;
  for (let depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++, cause = cause.cause) {
    const { code } = cause as { readonly code?: unknown };
    if (typeof code !== 'string') continue;
    const words = BY_CODE.get(code) ?? (code.startsWith('ERR_SSL_') ? 'the TLS handshake failed' : undefined);
    if (words !== undefined) return words;
  }
  return undefined;
}

/** A sentence with the class of the cause, where one is known: "The server cannot be reached: connection refused." */
export function withCause(sentence: string, error: unknown): string {
  const words = causeWords(error);
  return words === undefined ? sentence : `${sentence.replace(/\.$/, '')}: ${words}.`;
}
