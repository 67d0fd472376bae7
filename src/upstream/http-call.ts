// Sends one JSON-RPC request over HTTP and gives its answer, whatever form it takes: a JSON body, or
// an event stream on which progress, other notifications and the answer arrive.
import type { Hearing } from '../connection/connection.ts';
import { ProxyError } from '../shared/errors.ts';
import { readdressProgress } from '../wire/envelope.ts';
import { Reply } from '../wire/reply.ts';
import { scan } from '../wire/scan.ts';
import { replyOf } from './http-errors.ts';
import { type Door, exchange } from './http-exchange.ts';
import type { HttpTarget } from './http-target.ts';

export interface HttpCall {
  readonly target: HttpTarget;
  readonly headers: readonly string[];
  readonly id: number;
  readonly body: string;
  readonly hasSession: boolean;
  readonly signal: AbortSignal | undefined;
  readonly hearing: Hearing | undefined;
  readonly progressToken: string | undefined;
  /** A request of the server on this call's stream: a JSON-RPC message to be answered. */
  readonly onServerRequest: (raw: string) => void;
}

const PROGRESS = '"notifications/progress"';

/** Errors as in Connection.request. */
export async function callOverHttp(door: Door, call: HttpCall): Promise<Reply> {
  let reply: Reply | undefined;
  const answer = await exchange(door, {
    origin: call.target.origin,
    path: call.target.path,
    method: 'POST',
    headers: call.headers,
    body: call.body,
    signal: call.signal,
    onEvent: (data) => {
      reply = answerIn(call, data);
      return reply !== undefined;
    },
    onBatch: () => call.hearing?.flush(),
  });
  if (reply !== undefined) return reply;
  if (answer.reader !== undefined) throw new ProxyError('upstream_unavailable', 'The server closed the stream before it answered; the request may have run.');
  const whole = replyOf(answer, door.clock.now(), call.hasSession);
  if (whole.idText !== String(call.id) && !whole.isError) throw new ProxyError('upstream_protocol', 'The server answered another request than the one it was sent.');
  return whole;
}

/** The answer to this call, when `data` is that; everything else on the stream is dealt with here. */
function answerIn(call: HttpCall, data: string): Reply | undefined {
  if (data.startsWith('{"jsonrpc":"2.0","method":"notifications/progress"')) {
    progress(call, data);
    return undefined;
  }
  const bytes = Buffer.from(data, 'latin1');
  let reply: Reply | undefined;
  try {
    reply = Reply.from(bytes);
  } catch {
    return undefined; // not JSON: one bad event does not end the call, the end of the stream does
  }
  // Another id is an answer to nothing that was asked here; a null id is one to something unreadable.
  if (reply !== undefined) return reply.idText === String(call.id) || reply.idText === `"${call.id}"` ? reply : undefined;
  if (data.includes(PROGRESS)) progress(call, data);
  else if (scan(bytes)?.id !== undefined) call.onServerRequest(data);
  else call.hearing?.message(data.includes('\n') ? oneLine(bytes) : data);
  return undefined;
}

function progress(call: HttpCall, data: string): void {
  const readdressed = readdressProgress(data, call.id, call.progressToken);
  if (readdressed === undefined || call.hearing === undefined) return;
  call.hearing.progress();
  if (readdressed !== '') call.hearing.message(readdressed.includes('\n') ? oneLine(Buffer.from(readdressed, 'latin1')) : readdressed);
}

/** Pretty-printed JSON came in several data lines; it travels on as one. */
const oneLine = (bytes: Buffer): string => Buffer.from(JSON.stringify(JSON.parse(bytes.toString('utf8')))).toString('latin1');

/** Sends a notification or an answer of ours; nothing waits for it and its failure harms nobody. */
export async function tell(door: Door, target: HttpTarget, headers: readonly string[], message: unknown, signal?: AbortSignal): Promise<void> {
  const answer = await exchange(door, { origin: target.origin, path: target.path, method: 'POST', headers, body: JSON.stringify(message), signal });
  if (answer.status >= 300) replyOf(answer, door.clock.now(), true);
}
