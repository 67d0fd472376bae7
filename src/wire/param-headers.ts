// Arguments that a tool's schema wants mirrored into headers (2026-07-28 §basic/transports/streamable-http).
import { encodeHeaderValue } from './headers.ts';
import { isJsonObject, type JsonObject } from './reply.ts';

/** One argument that a tool's schema wants mirrored into a header. */
export interface ParamHeader {
  /** Lower case, `mcp-param-` included. */
  readonly header: string;
  readonly path: readonly string[];
}

const ANNOTATION = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
/** No `number`: one value can be written in several ways, and header and body have to agree. */
const MIRRORED_TYPES = new Set(['string', 'integer', 'boolean']);
/** As deep as a tool may be. */
const MAX_DEPTH = 64;

/** Where a schema holds further schemas beside `properties`: one, a list of them, or one by name. */
const ONE_OR_MORE = [
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
];
const BY_NAME = ['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties'];

/**
 * The `x-mcp-header` annotations of an input schema. Undefined when one breaks the rules, or stands where it is not
 * reached from the root by `properties` alone: such a tool must not be offered over HTTP (2026-07-28 §server/tools).
 */
export function paramHeadersOf(schema: unknown): readonly ParamHeader[] | undefined {
  const found = new Map<string, ParamHeader>();
  // `path` is undefined off the chain of properties, and empty at the root, which is no argument.
  const walk = (node: unknown, path: readonly string[] | undefined, depth: number): boolean => {
    if (!isJsonObject(node) || depth > MAX_DEPTH) return true;
    if (Object.hasOwn(node, ANNOTATION) && !isTaken(node, path, found)) return false;
    const properties = isJsonObject(node['properties']) ? Object.entries(node['properties']) : [];
    return (
      properties.every(([key, child]) => walk(child, path === undefined ? undefined : [...path, key], depth + 1)) &&
      schemasIn(node).every((child) => walk(child, undefined, depth + 1))
    );
  };
  return walk(schema, [], 0) ? [...found.values()] : undefined;
}

function isTaken(node: JsonObject, path: readonly string[] | undefined, found: Map<string, ParamHeader>): boolean {
  const name = node[ANNOTATION];
  if (path === undefined || path.length === 0 || typeof name !== 'string' || !TOKEN.test(name)) return false;
  const header = `mcp-param-${name.toLowerCase()}`;
  if (found.has(header) || !MIRRORED_TYPES.has(node['type'] as string)) return false;
  found.set(header, { header, path });
  return true;
}

/** Those that no argument is read from by its path. What is no schema, such as a default, is not looked into. */
function schemasIn(node: JsonObject): readonly unknown[] {
  const several = ONE_OR_MORE.flatMap((keyword) => node[keyword] ?? []);
  const named = BY_NAME.flatMap((keyword) => (isJsonObject(node[keyword]) ? Object.values(node[keyword]) : []));
  return [...several, ...named];
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
