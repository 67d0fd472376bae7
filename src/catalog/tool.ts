// A tool as its server lists it, made fit to be offered. One bad tool is left out with a reason and
// harms no other; what a tool says is otherwise carried through unread and unchanged.

import { findMember } from '../wire/json-bytes.ts';
import { END_OF_LIST, endOfValue, firstElement, nextElement, smallValue } from '../wire/json-walk.ts';
import { PARAM_HEADER, type ParamHeader, paramHeadersOf } from '../wire/param-headers.ts';
import { isJsonObject, type JsonObject } from '../wire/reply.ts';

export interface Tool {
  /** The server's own name. */
  readonly name: string;
  /** All the rest of it, as JSON text behind its name: as objects it could take fifty times the memory. */
  readonly rest: string;
  readonly hints: ToolHints;
  /** Arguments to be mirrored into headers for modern servers over HTTP. */
  readonly paramHeaders: readonly ParamHeader[];
}

/** The server's own word; undefined where it says nothing (2025-11-25 §server/tools, annotations). */
export interface ToolHints {
  readonly isReadOnly: boolean | undefined;
  readonly isDestructive: boolean | undefined;
}

export interface DroppedTool {
  readonly name: string;
  readonly reason: string;
}

const MAX_NAME_LENGTH = 256;
const MAX_TOOL_BYTES = 64 * 1024;
const MAX_DEPTH = 64;
/** As it is written by its server, blanks and escapes included. */
const MAX_LISTED_BYTES = 2 * MAX_TOOL_BYTES;

export interface ReadTools {
  readonly tools: readonly Tool[];
  readonly dropped: readonly DroppedTool[];
}

/** Takes the tools of a list one by one, so that somebody else's turn can come in between. */
export class ToolReader {
  readonly #tools = new Map<string, Tool>();
  readonly #dropped: DroppedTool[] = [];

  add(item: unknown): void {
    const name = isJsonObject(item) && typeof item['name'] === 'string' ? item['name'] : undefined;
    const read = name === undefined || !isJsonObject(item) ? 'it has no name' : readTool(name, item);
    if (typeof read === 'string') this.#dropped.push({ name: (name ?? '').slice(0, MAX_NAME_LENGTH), reason: read });
    // The first of a name stays: a later one must not take its place.
    else if (!this.#tools.has(read.name)) this.#tools.set(read.name, read);
  }

  /** The fit tools in the order of their names, each name once, and what was left out. */
  end(): ReadTools {
    const tools = [...this.#tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { tools, dropped: this.#dropped };
  }
}

const NO_HINTS: ToolHints = { isReadOnly: undefined, isDestructive: undefined };
const NO_HEADERS: readonly ParamHeader[] = [];
const UNSTORABLE = 'keybearer/unstorable';

/**
 * The elements of a JSON list, one by one as they are asked for: a long list is not even walked at once. What is larger than
 * a tool may be is never parsed. Returns whether it was a list to its end.
 */
export function* listedTools(bytes: Buffer, at: number): Generator<Listed, boolean, undefined> {
  for (let from: number | undefined = firstElement(bytes, at); from !== undefined; ) {
    if (from === END_OF_LIST) return true;
    const end = endOfValue(bytes, from);
    if (end < 0) return false;
    yield new Listed(bytes, from, end);
    from = nextElement(bytes, end);
  }
  return false;
}

class Listed {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly size: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.size = end - start;
  }

  /** Throws SyntaxError. */
  parse(): unknown {
    if (this.size <= MAX_LISTED_BYTES)
      return JSON.parse(this.#bytes.toString('utf8', this.#start, this.#start + this.size));
    const name = findMember(this.#bytes, this.#start, 'name');
    return {
      name: name === undefined ? undefined : smallValue(this.#bytes, name, 6 * MAX_NAME_LENGTH),
      [UNSTORABLE]: 'large',
    };
  }
}

/** What is kept of a listed tool: all of it, or a mark where it is too deep to be written down. */
export function storable(item: unknown): unknown {
  if (!depthExceeds(item, MAX_DEPTH)) return item;
  return { name: isJsonObject(item) ? item['name'] : undefined, [UNSTORABLE]: true };
}

/** Its JSON text, as it is kept: as an object it could take fifty times the memory. */
export const writtenTool = (item: unknown): string => JSON.stringify(storable(item)) ?? 'null';

/** The tool, or why it cannot be offered. */
function readTool(name: string, item: JsonObject): Tool | string {
  if (item[UNSTORABLE] === 'large') return `it is larger than ${MAX_TOOL_BYTES} bytes`;
  if (item[UNSTORABLE] === true) return `it is nested more than ${MAX_DEPTH} levels deep`;
  if (name === '' || name.length > MAX_NAME_LENGTH) return 'its name is empty or too long';
  if (depthExceeds(item, MAX_DEPTH)) return `it is nested more than ${MAX_DEPTH} levels deep`;
  const definition = withObjectSchema(item);
  if (definition === undefined) return 'its inputSchema is not a schema of an object';
  const output = item['outputSchema'];
  if (output !== undefined && !isJsonObject(output)) return 'its outputSchema is not an object';
  const { name: _, ...others } = definition;
  const rest = JSON.stringify(others).slice(1);
  if (listedText(name, { rest }).length > MAX_TOOL_BYTES) return `it is larger than ${MAX_TOOL_BYTES} bytes`;
  // Hardly any schema has one, and looking into all of it costs more than reading it did.
  const paramHeaders = rest.includes(PARAM_HEADER) ? paramHeadersOf(definition['inputSchema']) : NO_HEADERS;
  if (paramHeaders === undefined) return 'its x-mcp-header annotations are not valid';
  return { name, rest, hints: hintsOf(definition['annotations']), paramHeaders };
}

/** The text of a tool as it is listed under this name. */
export const listedText = (name: string, { rest }: Pick<Tool, 'rest'>): string =>
  `{"name":${JSON.stringify(name)},${rest}`;

function hintsOf(annotations: unknown): ToolHints {
  if (!isJsonObject(annotations)) return NO_HINTS;
  const hint = (key: string): boolean | undefined => {
    const value = annotations[key];
    return typeof value === 'boolean' ? value : undefined;
  };
  return { isReadOnly: hint('readOnlyHint'), isDestructive: hint('destructiveHint') };
}

/** A schema that lacks `type: object` gets it and nothing else; one that is no schema cannot be mended. */
function withObjectSchema(item: JsonObject): JsonObject | undefined {
  const schema = item['inputSchema'];
  if (schema === undefined) return { ...item, inputSchema: { type: 'object' } };
  if (!isJsonObject(schema)) return undefined;
  if (schema['type'] === 'object') return item;
  return schema['type'] === undefined ? { ...item, inputSchema: { type: 'object', ...schema } } : undefined;
}

/** Without recursion: a document may be nested deeper than the stack. */
function depthExceeds(value: unknown, limit: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    const next: unknown[] = [];
    for (const node of level) {
      if (typeof node === 'object' && node !== null) for (const child of Object.values(node)) next.push(child);
    }
    level = next;
  }
  return false;
}
