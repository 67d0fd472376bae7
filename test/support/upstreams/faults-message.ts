// Faults in the JSON-RPC message: not JSON, not one message, not an answer, not the right one.
import type { Fault, Strike } from './fault.ts';
import { errorText, resultText } from './message.ts';
import { echoTool, listResult } from './plain-answer.ts';
import { eventText, sendText, startEvents } from './responses.ts';

const text =
  (write: (strike: Strike) => string): Fault =>
  (strike) =>
    sendText(strike.res, 200, write(strike));

const rpcError =
  (code: number, status = 200): Fault =>
  ({ res, id }) =>
    sendText(res, status, errorText(id, code, `Refused with ${code}`));

/** A whole answer but for one byte that no UTF-8 text has. */
const invalidUtf8: Fault = ({ res, id }) => {
  const bytes = Buffer.from(resultText(id, '{"content":[{"type":"text","text":"caf?"}]}'));
  bytes[bytes.indexOf('?')] = 0xe9;
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(bytes);
};

const nullIdErrorFirst: Fault = ({ res, id, good }) => {
  startEvents(res);
  res.write(eventText(errorText(null, -32700, 'Parse error')));
  res.end(eventText(resultText(id, good)));
};

export const messageFaults = {
  array: { on: 'tools/call', fault: text(({ id, good }) => `[${resultText(id, good)}]`) },
  'both-result-and-error': {
    on: 'tools/call',
    fault: text(
      ({ id, good }) =>
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${good},"error":{"code":-32000,"message":"and yet"}}`,
    ),
  },
  'neither-result-nor-error': {
    on: 'tools/call',
    fault: text(({ id }) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)}}`),
  },
  'wrong-id': { on: 'tools/call', fault: text(({ good }) => resultText(987_654_321, good)) },
  /** The right number, as a string. */
  'string-id': { on: 'tools/call', fault: text(({ id, good }) => resultText(String(id), good)) },
  'null-id-error-first': { on: 'tools/call', fault: nullIdErrorFirst },
  'invalid-json': { on: 'tools/call', fault: text(({ id, good }) => resultText(id, good).slice(0, -1)) },
  'invalid-utf8': { on: 'tools/call', fault: invalidUtf8 },
  'rpc-32601': { on: 'server/discover', fault: rpcError(-32601) },
  'rpc-32600': { on: 'server/discover', fault: rpcError(-32600, 400) },
  'rpc-32602': { on: 'server/discover', fault: rpcError(-32602) },
  'rpc-32000': { on: 'server/discover', fault: rpcError(-32000, 400) },
  'endless-cursor': {
    on: 'tools/list',
    fault: text(({ id, nth, state }) =>
      resultText(id, listResult(state, [echoTool.replace('echo', `echo_${nth}`)], `p${nth}`)),
    ),
  },
} as const;
