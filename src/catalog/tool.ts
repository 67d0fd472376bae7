// A tool as its server lists it, made fit to be offered. One bad tool is left out with a reason and
// harms no other; what a tool says is otherwise carried through unread and unchanged.

import { findMember } from '../wire/json-bytes.ts';
import { eachElement, smallValue } from '../wire/json-walk.ts';
import { type ParamHeader, paramHeadersOf } from '../wire/param-headers.ts';
import { isJsonObject, type JsonObject } from '../wire/reply.ts';

export interface Tool {
  /** The server's own name. */
  readonly name: string;
  readonly definition: JsonObject;
  /** Arguments to be mirrored into headers for modern servers over HTTP. */
  readonly paramHeaders: readonly ParamHeader[];
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

const UNSTORABLE = 'keybearer/unstorable';

/**
 * The first `most` elements of a JSON list, parsed one by one; what is larger than a tool may be is not parsed at all.
 * Undefined when it is no list.
 */
export function listedTools(bytes: Buffer, at: number, most?: number): readonly Listed[] | undefined {
  const listed: Listed[] = [];
  const isList = eachElement(bytes, at, (start, end) => {
    listed.push(new Listed(bytes, start, end));
    return listed.length === most;
  });
  return isList ? listed : undefined;
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
  if (JSON.stringify(definition).length > MAX_TOOL_BYTES) return `it is larger than ${MAX_TOOL_BYTES} bytes`;
  const paramHeaders = paramHeadersOf(definition['inputSchema']);
  return paramHeaders === undefined ? 'its x-mcp-header annotations are not valid' : { name, definition, paramHeaders };
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
