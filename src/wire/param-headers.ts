// Arguments that a tool's schema wants mirrored into headers (2026-07-28 §basic/transports/streamable-http).
import { encodeHeaderValue } from './headers.ts';
import { isJsonObject, type JsonObject } from './reply.ts';

/** One argument that a tool's schema wants mirrored into a header. */
export interface ParamHeader {
  /** Lower case, `mcp-param-` included. */
  readonly header: string;
  readonly path: readonly string[];
}

/** The annotation. */
export const PARAM_HEADER = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
/** No `number`: one value can be written in several ways, and header and body have to agree. */
const MIRRORED_TYPES = new Set(['string', 'integer', 'boolean']);
/** As deep as a tool may be. */
const MAX_DEPTH = 64;

/** Where a schema holds further schemas beside `properties`: one, a list of them, or one by name. */
const ONE_OR_MORE = new Set([
  'additionalProperties',
  'allOf',
  'anyOf',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'additionalItems',
  'not',
  'oneOf',
  'prefixItems',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
const BY_NAME = new Set(['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties']);

/**
 * The `x-mcp-header` annotations of an input schema. Undefined when one breaks the rules, or stands where it is not
 * reached from the root by `properties` alone: such a tool must not be offered over HTTP (2026-07-28 §server/tools).
 */
export function paramHeadersOf(schema: unknown): readonly ParamHeader[] | undefined {
  const found = new Map<string, ParamHeader>();
  return isTakenBelow(schema, [], 0, found) ? [...found.values()] : undefined;
}

/**
 * `path` is undefined off the chain of properties, and empty at the root, which is no argument. Each schema costs what it
 * has members: there may be twenty thousand empty ones in one tool.
 */
function isTakenBelow(
  node: unknown,
  path: readonly string[] | undefined,
  depth: number,
  found: Map<string, ParamHeader>,
): boolean {
  if (!isJsonObject(node) || depth > MAX_DEPTH) return true;
  if (Object.hasOwn(node, PARAM_HEADER) && !isTaken(node, path, found)) return false;
  for (const keyword of Object.keys(node)) {
    const value = node[keyword];
    if (keyword === 'properties' && isJsonObject(value)) {
      for (const [key, child] of Object.entries(value))
        if (!isTakenBelow(child, path === undefined ? undefined : [...path, key], depth + 1, found)) return false;
    } else if (ONE_OR_MORE.has(keyword) || BY_NAME.has(keyword)) {
      for (const child of schemasIn(value, BY_NAME.has(keyword)))
        if (!isTakenBelow(child, undefined, depth + 1, found)) return false;
    }
  }
  return true;
}

/** Those that no argument is read from by its path. What is no schema, such as a default, is not looked into. */
function schemasIn(value: unknown, isByName: boolean): readonly unknown[] {
  if (isByName) return isJsonObject(value) ? Object.values(value) : [];
  return Array.isArray(value) ? (value as readonly unknown[]) : [value];
}

function isTaken(node: JsonObject, path: readonly string[] | undefined, found: Map<string, ParamHeader>): boolean {
  const name = node[PARAM_HEADER];
  if (path === undefined || path.length === 0 || typeof name !== 'string' || !TOKEN.test(name)) return false;
  const header = `mcp-param-${name.toLowerCase()}`;
  if (found.has(header) || !MIRRORED_TYPES.has(node['type'] as string)) return false;
  found.set(header, { header, path });
  return true;
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
