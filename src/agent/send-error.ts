// A JSON-RPC error as a whole HTTP answer. Nothing is sent where an answer was begun already.
import type { ServerResponse } from 'node:http';
import { JSON_HEADERS } from './answer-headers.ts';

/** `idText` is JSON text; without one the id is null, as JSON-RPC says. */
export function sendError(
  response: ServerResponse,
  status: number,
  error: unknown,
  idText = 'null',
  headers: readonly string[] = [],
): void {
  if (response.headersSent || response.destroyed) return;
  const text = Buffer.from(`{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`);
  response.writeHead(status, [...JSON_HEADERS, 'content-length', String(text.length), ...headers]);
  response.end(text);
}

export function notAllowed(response: ServerResponse, allow: string): void {
  response.req.resume();
  sendError(response, 405, { code: -32600, message: `Only ${allow} here.` }, 'null', ['allow', allow]);
}
