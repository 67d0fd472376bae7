// Header values that mirror the body in the modern era (2026-07-28 §basic/transports/streamable-http).
// A value that cannot travel as plain ASCII goes as `=?base64?…?=`.

const SENTINEL = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;
const PLAIN = /^[\u0021-\u007e](?:[\t\u0020-\u007e]*[\u0021-\u007e])?$/;

export function encodeHeaderValue(value: string): string {
  if (PLAIN.test(value) && !value.startsWith('=?base64?')) return value;
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

/** Undefined when the sentinel's content is no Base64. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!value.startsWith('=?base64?')) return value;
  const found = SENTINEL.exec(value);
  return found?.[1] === undefined ? undefined : Buffer.from(found[1], 'base64').toString('utf8');
}
