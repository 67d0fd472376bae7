// Requests that a server sends to us. Only what an agent can be asked is relayed, and nothing was
// advertised yet: ping is answered, everything else is declined at once so that the server does not wait.
import { isJsonObject } from '../wire/reply.ts';

/** The JSON-RPC answer to one request of the server; `raw` is latin1 text of one message. */
export function answerServerRequest(raw: string): unknown {
  const message: unknown = JSON.parse(Buffer.from(raw, 'latin1').toString('utf8'));
  if (!isJsonObject(message)) return undefined;
  const { id, method } = message as { id?: unknown; method?: unknown };
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} };
  return { jsonrpc: '2.0', id, error: { code: -32601, message: 'This client offers no such method.' } };
}
