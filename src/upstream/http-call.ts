// Sends one JSON-RPC request over HTTP and gives its answer, whatever form it takes: a JSON body, or
// an event stream on which progress, other notifications and the answer arrive.
import { isUtf8 } from 'node:buffer';
import type { Hearing } from '../connection/connection.ts';
import { ProxyError } from '../shared/errors.ts';
import { readdressProgress } from '../wire/envelope.ts';
import { isJsonObject, type JsonObject, Reply } from '../wire/reply.ts';
import { replyOf } from './http-errors.ts';
import type { Door } from './http-exchange.ts';
import { exchange } from './http-follow.ts';
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

/** Errors as in Connection.request. */
export async function callOverHttp(door: Door, call: HttpCall): Promise<Reply> {
  let reply: Reply | undefined;
  const answer = await exchange(door, {
    origin: call.target.origin,
    path: call.target.path,
    method: 'POST',
    headers: call.headers,
    body: call.body,
    echo: call.target.echo,
    signal: call.signal,
    onEvent: (data) => {
      reply = answerIn(call, data);
      return reply !== undefined;
    },
    onBatch: () => call.hearing?.flush(),
  });
  if (reply !== undefined) return reply;
  if (answer.reader !== undefined)
    throw new ProxyError(
      'upstream_unavailable',
      'The server closed the stream before it answered; the request may have run.',
    );
  const whole = replyOf(answer, door.clock.now(), call.hasSession);
  if (!isAnswerTo(whole, call) && !whole.isError)
    throw new ProxyError('upstream_protocol', 'The server answered another request than the one it was sent.');
  return whole;
}

/** A notification or a request of a server; a longer one is dropped. */
export const MAX_NOTICE_BYTES = 1024 * 1024;

/** Some servers hand a number back as text. */
const isAnswerTo = ({ idText }: Reply, { id }: HttpCall): boolean => idText === String(id) || idText === `"${id}"`;

/**
 * Progress as every server writes it: nothing but its own members, plain ASCII. It may come a thousand
 * times a second and is told without parsing; anything else is read with care.
 */
const PLAIN_PROGRESS =
  /^\{"jsonrpc":"2\.0","method":"notifications\/progress","params":\{(?:"(?:progressToken|progress|total|message)":(?:\d+(?:\.\d+)?|"[ !#-[\]-~]*")(?:,(?=")|(?=\}))){1,4}\}\}$/;

/** The answer to this call, when `data` is that; everything else on the stream is dealt with here. */
function answerIn(call: HttpCall, data: string): Reply | undefined {
  if (data.startsWith('{"jsonrpc":"2.0","method"') && PLAIN_PROGRESS.test(data)) {
    progress(call, data);
    return undefined;
  }
  const bytes = Buffer.from(data, 'latin1');
  let reply: Reply | undefined;
  let message: unknown;
  try {
    reply = Reply.from(bytes);
    // To be told it would have to be parsed, which takes too long.
    if (reply === undefined && bytes.length > MAX_NOTICE_BYTES) return undefined;
    if (reply === undefined) message = JSON.parse(data);
  } catch {
    return undefined; // not JSON: one bad event does not end the call, the end of the stream does
  }
  // Another id is an answer to nothing that was asked here; a null id is one to something unreadable.
  if (reply !== undefined) return isAnswerTo(reply, call) ? reply : undefined;
  if (isJsonObject(message))
    hear(call, message, isUtf8(bytes) ? data : Buffer.from(bytes.toString('utf8')).toString('latin1'));
  return undefined;
}

/**
 * Only what was read as a notification and nothing else is passed on: with an id or a result in it, an
 * agent might take it for the answer of another server.
 */
function hear(call: HttpCall, message: JsonObject, raw: string): void {
  if (typeof message['method'] !== 'string' || 'result' in message || 'error' in message) return;
  if ('id' in message) call.onServerRequest(raw);
  else if (message['method'] === 'notifications/progress') progress(call, raw);
  else call.hearing?.message(oneLine(raw));
}

function progress(call: HttpCall, raw: string): void {
  const readdressed = readdressProgress(raw, call.id, call.progressToken);
  if (readdressed === undefined || call.hearing === undefined) return;
  call.hearing.progress();
  if (readdressed !== '') call.hearing.message(oneLine(readdressed));
}

/** Pretty-printed JSON came in several data lines; between its members a line break means nothing. */
const oneLine = (raw: string): string => (raw.includes('\n') ? raw.replaceAll('\n', ' ') : raw);

/** Sends a notification or an answer of ours; nothing waits for it and its failure harms nobody. */
export async function tell(
  door: Door,
  target: HttpTarget,
  headers: readonly string[],
  message: unknown,
  signal?: AbortSignal,
): Promise<void> {
  const answer = await exchange(door, {
    origin: target.origin,
    path: target.path,
    method: 'POST',
    headers,
    body: JSON.stringify(message),
    echo: target.echo,
    signal,
  });
  if (answer.status >= 300) replyOf(answer, door.clock.now(), true);
}
