// One message from an agent, told apart: request, notification or answer, legacy or modern. Everything
// wrong with it is said by JSON-RPC code and HTTP status (2026-07-28 §basic/index, error codes).
import type { IncomingHttpHeaders } from 'node:http';
import {
  type Era,
  isLegacyVersion,
  LEGACY_VERSIONS,
  META_CAPABILITIES,
  META_VERSION,
  MODERN_VERSION,
  metaOf,
} from '../wire/era.ts';
import { decodeHeaderValue } from '../wire/headers.ts';
import { asciiJson, isJsonObject, type JsonObject } from '../wire/reply.ts';

export interface Incoming {
  readonly kind: 'request' | 'notification' | 'answer';
  readonly era: Era;
  /** JSON text of the id as the agent wrote it; 'null' where there is none. */
  readonly idText: string;
  readonly method: string;
  /** Of an answer its result; empty when it is an error. */
  readonly params: JsonObject;
}

/** Why a message is not processed. */
export class BadMessage extends Error {
  readonly status: number;
  readonly code: number;
  readonly idText: string;
  readonly data: JsonObject | undefined;

  constructor(status: number, code: number, message: string, idText = 'null', data?: JsonObject) {
    super(message);
    this.status = status;
    this.code = code;
    this.idText = idText;
    this.data = data;
  }
}

const NO_PARAMS: JsonObject = {};
const MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

/** @param text within `MessageBounds`; throws BadMessage */
export function readMessage(text: string, headers: IncomingHttpHeaders): Incoming {
  const message = parse(text);
  const idText = idOf(message);
  const { method } = message as { method?: unknown };
  if (method === undefined && ('result' in message || 'error' in message)) {
    const { result } = message as { result?: unknown };
    const params = isJsonObject(result) ? result : NO_PARAMS;
    return { kind: 'answer', era: 'legacy', idText: idText ?? 'null', method: '', params };
  }
  if (typeof method !== 'string') throw new BadMessage(400, -32600, 'The message has no method.', idText);
  const params = message['params'];
  if (params !== undefined && !isJsonObject(params))
    throw new BadMessage(400, -32602, 'params must be an object.', idText);
  const kind = idText === undefined ? 'notification' : 'request';
  const incoming = { kind, era: 'legacy', idText: idText ?? 'null', method, params: params ?? NO_PARAMS } as const;
  return isModern(incoming, headers) ? checkedModern({ ...incoming, era: 'modern' }, headers) : incoming;
}

function parse(text: string): JsonObject {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new BadMessage(400, -32700, 'The body is not JSON.');
  }
  if (Array.isArray(message)) throw new BadMessage(400, -32600, 'Batches are not taken; send one message per request.');
  if (!isJsonObject(message) || message['jsonrpc'] !== '2.0')
    throw new BadMessage(400, -32600, 'The body is not a JSON-RPC 2.0 message.');
  return message;
}

/** Undefined when there is none. Numbers must be whole and exact, or another id would come back. */
function idOf(message: JsonObject): string | undefined {
  const { id } = message as { id?: unknown };
  if (id === undefined) return undefined;
  if (typeof id === 'string' || Number.isSafeInteger(id)) return asciiJson(id);
  throw new BadMessage(400, -32600, 'The id must be a string or a whole number.');
}

function isModern({ kind, params, idText }: Incoming, headers: IncomingHttpHeaders): boolean {
  const version = metaOf(params)?.[META_VERSION];
  if (version !== undefined) {
    if (version === MODERN_VERSION) return true;
    const header = headers['mcp-protocol-version'];
    if (header !== undefined && header !== version) throw mismatch('MCP-Protocol-Version', idText);
    throw unsupported(typeof version === 'string' ? version : 'none', idText);
  }
  if (headers['mcp-protocol-version'] === MODERN_VERSION) {
    // Only requests carry the envelope (2026-07-28 §basic/index, _meta).
    if (kind === 'notification') return true;
    throw new BadMessage(400, -32602, `params._meta must carry ${META_VERSION}.`, idText);
  }
  return false;
}

const unsupported = (requested: string, idText: string): BadMessage =>
  new BadMessage(400, UNSUPPORTED_VERSION, 'This protocol version is not supported.', idText, {
    supported: [MODERN_VERSION, ...LEGACY_VERSIONS],
    requested: requested.slice(0, 64),
  });

/** Headers that mirror the body must say what it says, or an intermediary may have judged something else. */
function checkedModern(incoming: Incoming, headers: IncomingHttpHeaders): Incoming {
  const { idText, method, params, kind } = incoming;
  const version = headers['mcp-protocol-version'];
  if (version !== undefined && version !== MODERN_VERSION) throw mismatch('MCP-Protocol-Version', idText);
  if (kind === 'notification') return incoming;
  if (version === undefined) throw mismatch('MCP-Protocol-Version', idText);
  if (!isJsonObject(metaOf(params)?.[META_CAPABILITIES]))
    throw new BadMessage(400, -32602, `params._meta must carry ${META_CAPABILITIES}.`, idText);
  if (headers['mcp-method'] !== method) throw mismatch('Mcp-Method', idText);
  const field = MIRRORED_NAME.get(method);
  if (field === undefined) return incoming;
  const name = headers['mcp-name'];
  if (typeof name !== 'string' || !saysTheSame(name, params[field])) throw mismatch('Mcp-Name', idText);
  return incoming;
}

const MIRRORED_NAME: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** Equal as they stand is equal when read, too, unless the header is in Base64. */
const saysTheSame = (header: string, value: unknown): boolean =>
  (header === value && !header.startsWith('=?')) || decodeHeaderValue(latin1ToUtf8(header)) === value;

const latin1ToUtf8 = (value: string): string => Buffer.from(value, 'latin1').toString('utf8');

const mismatch = (header: string, idText: string): BadMessage =>
  new BadMessage(400, MISMATCH, `The header ${header} does not say what the body says.`, idText);

/** The version header of a legacy request must be the negotiated one; absent is forgiven. */
export function checkLegacyVersion(header: string | string[] | undefined, negotiated: string, idText: string): void {
  if (header === undefined || header === negotiated) return;
  if (!isLegacyVersion(header)) throw unsupported(String(header), idText);
  throw new BadMessage(400, -32600, `This session speaks ${negotiated}.`, idText);
}
