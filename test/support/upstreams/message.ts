// JSON-RPC messages as a server reads and writes them. Results are kept as JSON text, so that what
// JavaScript cannot hold (big integers, member order) still goes over the wire.
export type JsonObject = Readonly<Record<string, unknown>>;
export type Id = string | number;

export interface Message {
  readonly id: Id | undefined;
  readonly method: string | undefined;
  readonly params: JsonObject;
  /** The message as it was, for answers to requests of ours. */
  readonly all: JsonObject;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const objectAt = (parent: JsonObject, key: string): JsonObject => {
  const value = parent[key];
  return isObject(value) ? value : {};
};

export function parseMessage(text: string): Message | undefined {
  let all: unknown;
  try {
    all = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(all)) return undefined;
  const { id, method } = all;
  return {
    id: typeof id === 'string' || typeof id === 'number' ? id : undefined,
    method: typeof method === 'string' ? method : undefined,
    params: objectAt(all, 'params'),
    all,
  };
}

/** Where the id stands in an answer; some SDKs write it last. */
export type IdPosition = 'first' | 'last';

export function resultText(id: Id, resultJson: string, idPosition: IdPosition = 'first'): string {
  const idJson = JSON.stringify(id);
  return idPosition === 'first'
    ? `{"jsonrpc":"2.0","id":${idJson},"result":${resultJson}}`
    : `{"jsonrpc":"2.0","result":${resultJson},"id":${idJson}}`;
}

export function errorText(id: Id | null, code: number, message: string, data?: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } });
}

export const notificationText = (method: string, params?: JsonObject): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params });
