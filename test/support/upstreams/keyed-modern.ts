// The modern era's door: the envelope must be there, and each header must say what the body says.
import type { Exchange } from './keyed-exchange.ts';
import { type JsonObject, objectAt } from './message.ts';
import {
  CAPABILITIES_KEY,
  HEADER_MISMATCH,
  MODERN,
  SERVER_INFO_KEY,
  UNSUPPORTED_VERSION,
  VERSION_KEY,
} from './revisions.ts';

/** SEP-2243: what does not fit into a header travels as =?base64?…?=. */
function decoded(header: unknown): string | undefined {
  if (typeof header !== 'string') return undefined;
  const sentinel = /^=\?base64\?(.*)\?=$/.exec(header);
  return sentinel === null ? header : Buffer.from(sentinel[1] ?? '', 'base64').toString('utf8');
}

const nameKey: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** Header names with the value they must have. */
function expectedHeaders(method: string, params: JsonObject): readonly (readonly [string, unknown])[] {
  const key = nameKey[method];
  const region = objectAt(params, 'arguments')['region'];
  return [
    ['mcp-protocol-version', objectAt(params, '_meta')[VERSION_KEY]],
    ['mcp-method', method],
    ...(key === undefined ? [] : [['mcp-name', params[key]] as const]),
    ...(params['name'] === 'regional' && region !== undefined ? [['mcp-param-region', region] as const] : []),
  ];
}

/** False after having refused the request. */
export function admitModern(exchange: Exchange): boolean {
  const { message, req } = exchange.asked;
  const refuse = (code: number, text: string, data?: unknown): boolean => {
    exchange.error(code, text, data, 400);
    return false;
  };
  const meta = objectAt(message.params, '_meta');
  const version = meta[VERSION_KEY] ?? message.params['protocolVersion'];
  if (version !== undefined && version !== MODERN) {
    return refuse(UNSUPPORTED_VERSION, 'Unsupported protocol version', { supported: [MODERN], requested: version });
  }
  if (meta[VERSION_KEY] === undefined) return refuse(-32602, `Missing _meta key ${VERSION_KEY}`);
  if (meta[CAPABILITIES_KEY] === undefined) return refuse(-32602, `Missing _meta key ${CAPABILITIES_KEY}`);
  const wrong = expectedHeaders(message.method ?? '', message.params).find(
    ([name, value]) => decoded(req.headers[name]) !== value,
  );
  return wrong === undefined || refuse(HEADER_MISMATCH, `Header ${wrong[0]} does not match the body`);
}

export function discover(exchange: Exchange): void {
  const { state } = exchange.asked;
  state.count('discovers');
  exchange.result(
    JSON.stringify({
      supportedVersions: [MODERN],
      capabilities: { tools: { listChanged: state.settings.listChanged }, ...state.options.also?.capabilities },
      instructions: state.options.instructions,
      ttlMs: state.settings.ttlMs,
      cacheScope: state.settings.cacheScope,
      _meta: { [SERVER_INFO_KEY]: { name: state.options.name ?? 'keyed', version: '1.0.0' } },
    }),
  );
}
