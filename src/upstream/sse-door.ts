// The fetch that the SDK's SSE transport is given, for its stream. It decides what an HTTP status means, keeps the
// request on the server's own origin, and takes the messages out of the event stream as bytes: the SDK
// would parse them, round their numbers and drop what its schemas do not know.
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Clock } from '../shared/clock.ts';
import { NotRunError, ProxyError } from '../shared/errors.ts';
import { type SseEvent, SseReader } from '../wire/sse.ts';
import type { Echo } from './echo.ts';
import type { EgressPolicy } from './egress/policy.ts';
import { nextHop } from './egress/redirects.ts';
import { replyOf } from './http-errors.ts';
import { MAX_BODY_BYTES } from './http-exchange.ts';
import { Pace, PIECE_BYTES } from './pace.ts';

export interface SseEars {
  /** Where messages go from now on; on the server's own origin. */
  endpoint(url: string): void;
  message(message: Buffer): void;
  /** No more messages at hand for now. */
  flush(): void;
  /** The stream is over, or never began. */
  ended(error: ProxyError): void;
}

const NOTHING = Buffer.alloc(0);
/** The connection was never made, so nothing was sent. Only codes that an open connection cannot give. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

export interface SseDoor {
  readonly fetch: FetchLike;
  readonly policy: EgressPolicy;
  readonly clock: Clock;
  readonly echo: Echo;
}

/** @param url of the event stream; all requests have to stay on its origin */
export function createSseFetch(door: SseDoor, url: URL, ears: SseEars): FetchLike {
  return async (target, init) => {
    try {
      requireOrigin(url, target);
      const response = await send(door, target, init);
      if (!response.ok || !isEventStream(response)) refuse(response, door.clock.now(), door.echo);
      return tapped(response, url, ears, new Pace(door.clock));
    } catch (error) {
      // The SDK would report this as text only.
      if (error instanceof ProxyError) ears.ended(error);
      throw error;
    }
  };
}

/** fetch would undo it, and what it had unpacked so far nobody could count. */
function requirePlain({ headers, body }: Response): void {
  const coding = headers.get('content-encoding') ?? 'identity';
  if (coding.trim().toLowerCase() === 'identity') return;
  void body?.cancel().catch(() => undefined);
  throw new ProxyError(
    'upstream_protocol',
    'The server sent its event stream in a content coding that was not asked for.',
  );
}

function requireOrigin(own: URL, target: string | URL): void {
  if (own.origin !== new URL(target).origin)
    throw new ProxyError('upstream_protocol', 'The server sent us to another origin, which is not followed.');
}

/** Every request here may carry a key, so none leaves the origin. */
async function send(
  { fetch, policy }: SseDoor,
  target: string | URL,
  init: RequestInit | undefined,
): Promise<Response> {
  let url = String(target);
  for (let followed = 0; ; followed++) {
    const response = await sendOnce(fetch, url, init);
    const { status, headers } = response;
    const hop = { url, method: 'GET', hasBody: false, carriesCredential: true };
    const next = nextHop(hop, { status, location: headers.get('location') ?? undefined }, followed, policy);
    if (next === undefined) return response;
    void response.body?.cancel().catch(() => undefined);
    url = next.url;
  }
}

async function sendOnce(fetch: FetchLike, url: string, init: RequestInit | undefined): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'manual' });
  } catch (error) {
    if (init?.signal?.aborted) throw error;
    throw networkError(error);
  }
}

/** fetch wraps what happened in a TypeError; our own doors' errors are found among its causes. */
function networkError(error: unknown): ProxyError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ProxyError) return cause;
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== undefined && NOT_CONNECTED.has(code))
      return new NotRunError('The server cannot be reached.', { cause: error });
  }
  return new ProxyError('upstream_unavailable', 'The connection to the server broke; the request may have run.', {
    cause: error,
  });
}

const isEventStream = ({ headers }: Response): boolean =>
  (headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');

/** Throws what the status means; a body is not needed for that. */
function refuse({ status, headers, body }: Response, now: number, echo: Echo): never {
  void body?.cancel().catch(() => undefined);
  const [contentType, retryAfter] = [headers.get('content-type') ?? '', headers.get('retry-after') ?? undefined];
  const challenge = headers.get('www-authenticate') ?? undefined;
  const answer = {
    status,
    contentType: echo.text(contentType),
    challenge: challenge === undefined ? undefined : echo.text(challenge),
    retryAfter,
    sessionId: undefined,
    location: undefined,
    body: NOTHING,
    reader: undefined,
  };
  replyOf(answer, now, false);
  throw new ProxyError('upstream_protocol', `The server answered with HTTP status ${status}.`);
}

/** Messages go to us, and only the rest (the `endpoint` event) to the transport. */
function tapped(response: Response, url: URL, ears: SseEars, pace: Pace): Response {
  requirePlain(response);
  let forward: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (forward = controller) });
  const reader = new SseReader(MAX_BODY_BYTES, (event) => {
    if (event.type === undefined || event.type === 'message') ears.message(oneLine(event));
    else if (event.type === 'endpoint') {
      const href = endpoint(event, url);
      ears.endpoint(href);
      forward.enqueue(Buffer.from(`event: endpoint\ndata: ${href}\n\n`, 'latin1'));
    }
  });
  void listen(response.body, reader, ears, pace).then((error) => {
    ears.ended(error);
    forward.close();
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

/** Reads to the end, which is never welcome. A chunk that cannot be taken ends it too, and cancels the rest. */
async function listen(
  body: AsyncIterable<Uint8Array> | null,
  reader: SseReader,
  ears: SseEars,
  pace: Pace,
): Promise<ProxyError> {
  try {
    if (body !== null) {
      for await (const chunk of body) {
        for (let at = 0; at < chunk.byteLength; at += PIECE_BYTES) {
          const bytes = Math.min(PIECE_BYTES, chunk.byteLength - at);
          reader.push(Buffer.from(chunk.buffer, chunk.byteOffset + at, bytes));
          ears.flush();
          const rest = pace.rest(reader.blocks);
          if (rest !== undefined) await rest;
        }
      }
    }
    return new ProxyError('upstream_unavailable', 'The server closed the event stream; the call may have run.');
  } catch (cause) {
    if (cause instanceof ProxyError) return cause;
    return new ProxyError('upstream_unavailable', 'The event stream of the server broke; the call may have run.', {
      cause,
    });
  }
}

/** A line break in JSON is only space, and further on a message is one line. */
const oneLine = ({ data }: SseEvent): Buffer => Buffer.from(data.replaceAll('\n', ' '), 'latin1');

/** As a URL is written, in one line: what the server wrote would be read once more, with all that may hide in it. */
function endpoint({ data }: SseEvent, url: URL): string {
  const text = Buffer.from(data, 'latin1').toString();
  if (!URL.canParse(text, url.href))
    throw new ProxyError('upstream_protocol', 'The server named an endpoint that is no URL.');
  const { href } = new URL(text, url);
  requireOrigin(url, href);
  return href;
}
