// Which headers an admin may set, and what may stand in them; security: header injection (RFC 9110 §5.1, §5.5).

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const MAX_VALUE_BYTES = 8192;

/** Framing, hop-by-hop (RFC 9110 §7.6.1), and what the MCP transport itself writes. */
const OURS = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'cookie2',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What is wrong with the name, in words that do not repeat it: people paste whole header lines here. */
export function headerNameProblem(name: string): string | undefined {
  if (!TOKEN.test(name)) return 'is not a header name: use letters, digits and hyphens, without a colon or a value';
  const lower = name.toLowerCase();
  if (OURS.has(lower) || lower.startsWith('mcp-')) return 'may not be set: this header belongs to the transport';
  return undefined;
}

/** What is wrong with a value after trimming, in words that do not repeat it. */
export function headerValueProblem(value: string): string | undefined {
  if (value === '') return 'is empty';
  if (value.length > MAX_VALUE_BYTES) return `is longer than ${String(MAX_VALUE_BYTES)} bytes`;
  return /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value)
    ? undefined
    : 'cannot be sent as a header: it has characters other than visible ASCII';
}

/** The word before a credential; `""` sends the bare value. */
export function schemeProblem(scheme: string): string | undefined {
  return scheme === '' || (TOKEN.test(scheme) && scheme.length <= 64)
    ? undefined
    : 'must be one word such as "Bearer", or "" for the bare value';
}
