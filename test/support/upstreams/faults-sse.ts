// Event streams at the edges of the format (HTML §9.2 Server-sent events), and streams that end too early.
import type { ServerResponse } from 'node:http';
import type { Fault, Strike } from './fault.ts';
import { resultText } from './message.ts';
import { eventText, startEvents } from './responses.ts';

/** Sends each chunk by itself, so that the borders between them reach the reader. */
function sendChunks(res: ServerResponse, chunks: readonly (string | Buffer)[]): void {
  startEvents(res);
  const next = (at: number): void => {
    const chunk = chunks[at];
    if (res.destroyed) return;
    if (chunk === undefined) return void res.end();
    res.write(chunk, () => setImmediate(next, at + 1));
  };
  next(0);
}

const events =
  (write: (answer: string, strike: Strike) => readonly (string | Buffer)[]): Fault =>
  (strike) =>
    sendChunks(strike.res, write(resultText(strike.id, strike.good), strike));

const NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"on my way"}}';

/** Behind {"jsonrpc":"2.0", where JSON may have a line end. */
const MEMBER_END = 17;

/** One byte at a time: through line ends and through characters of several bytes. */
const bytewise = (text: string): readonly Buffer[] => {
  const bytes = Buffer.from(text);
  return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
};

export const eventFaults = {
  'sse-no-answer': { on: 'tools/call', fault: events(() => [eventText(NOTE)]) },
  /** The blank line that ends an event never comes, so there is no event. */
  'sse-unterminated': { on: 'tools/call', fault: events((answer) => [`event: message\ndata: ${answer}`]) },
  'sse-crlf': {
    on: 'tools/call',
    fault: events((answer) => [`event: message\r\ndata: ${NOTE}\r\n\r\n`, `event: message\r\ndata: ${answer}\r\n\r\n`]),
  },
  'sse-cr': {
    on: 'tools/call',
    fault: events((answer) => [`event: message\rdata: ${NOTE}\r\r`, `event: message\rdata: ${answer}\r\r`]),
  },
  'sse-split': {
    on: 'tools/call',
    fault: events((answer) =>
      bytewise(`event: message\r\ndata: ${NOTE}\r\n\r\nevent: message\r\ndata: ${answer}\r\n\r\n`),
    ),
  },
  'sse-multi-data': {
    on: 'tools/call',
    fault: events((answer) => [`data: ${answer.slice(0, MEMBER_END)}\ndata: ${answer.slice(MEMBER_END)}\n\n`]),
  },
  /** 2025-11-25 §transports: an event with an id and no data, first. */
  'sse-primed': {
    on: 'tools/call',
    fault: events((answer) => ['id: 1\nretry: 50\ndata:\n\n', `id: 2\n${eventText(answer)}`]),
  },
  'sse-unknown-events': {
    on: 'tools/call',
    fault: events((answer) => [
      'event: ping\ndata: not for you\n\n',
      ': comment\n\n',
      'x-field: 1\n',
      eventText(answer),
    ]),
  },
  'sse-bom': { on: 'tools/call', fault: events((answer) => [`\uFEFFdata: ${answer}\n\n`]) },
  /** No blank behind the colon, and no event name. */
  'sse-no-space': { on: 'tools/call', fault: events((answer) => [`data:${answer}\n\n`]) },
} as const;
