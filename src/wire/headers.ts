// Header values that mirror the body in the modern era (2026-07-28 §basic/transports/streamable-http).
// A value that cannot travel as plain ASCII goes as `=?base64?…?=`.
import { isJsonObject } from './reply.ts';

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

/** One argument that a tool's schema wants mirrored into a header. */
export interface ParamHeader {
  /** Lower case, `mcp-param-` included. */
  readonly header: string;
  readonly path: readonly string[];
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
const MIRRORED_TYPES = new Set(['string', 'integer', 'number', 'boolean']);

/**
 * The `x-mcp-header` annotations of an input schema, found by `properties` alone. Undefined when one
 * breaks the rules: such a tool must not be offered over HTTP.
 */
export function paramHeadersOf(schema: unknown): readonly ParamHeader[] | undefined {
  const found: ParamHeader[] = [];
  const names = new Set<string>();
  const walk = (node: unknown, path: readonly string[]): boolean => {
    if (!isJsonObject(node) || !isJsonObject(node['properties']) || path.length > 16) return true;
    for (const [key, property] of Object.entries(node['properties'])) {
      if (!isJsonObject(property)) continue;
      const name = property['x-mcp-header'];
      if (name !== undefined) {
        if (typeof name !== 'string' || !TOKEN.test(name) || names.has(name.toLowerCase())) return false;
        if (!MIRRORED_TYPES.has(property['type'] as string)) return false;
        names.add(name.toLowerCase());
        found.push({ header: `mcp-param-${name.toLowerCase()}`, path: [...path, key] });
      }
      if (!walk(property, [...path, key])) return false;
    }
    return true;
  };
  return walk(schema, []) ? found : undefined;
}

/** The headers for one call; arguments that are absent or null have none. */
export function paramHeaderValues(
  wanted: readonly ParamHeader[],
  args: unknown,
): readonly (readonly [string, string])[] {
  const values: [string, string][] = [];
  for (const { header, path } of wanted) {
    let value: unknown = args;
    for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      values.push([header, encodeHeaderValue(String(value))]);
  }
  return values;
}
