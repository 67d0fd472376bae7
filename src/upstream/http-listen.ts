// A stream that is only listened to, kept open while somebody listens and opened again when it drops.
import type { Cancel } from '../shared/clock.ts';
import { isJsonObject } from '../wire/reply.ts';
import { MAX_NOTICE_BYTES } from './http-call.ts';
import type { Door, HttpRequest } from './http-exchange.ts';
import { exchange } from './http-follow.ts';
import type { HttpTarget } from './http-target.ts';

export interface Ear {
  /** A notification's method, as it came. */
  readonly onMethod: (method: string) => void;
  /** The server no longer knows the session, or no longer takes the credential: only a new connection helps. */
  readonly onLost: () => void;
  readonly onServerRequest: (raw: string) => void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** The stream is not offered, or not to us: asking again would not help. */
const FINAL = new Set([400, 401, 403, 404, 405, 406, 501]);

/** The GET stream of a legacy session. A 405 is remembered only as long as this listening lasts. */
export function listenOverGet(door: Door, target: HttpTarget, headers: readonly string[], ear: Ear): () => void {
  return keepListening(door, ear, (base) => ({
    ...base,
    origin: target.origin,
    path: target.path,
    echo: target.echo,
    method: 'GET',
    carriesCredential: target.carriesCredential,
    headers: ['accept', 'text/event-stream', ...withoutAccept(headers)],
  }));
}

function withoutAccept(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== 'accept' && headers[i] !== 'content-type')
      kept.push(headers[i] as string, headers[i + 1] as string);
  }
  return kept;
}

/** Opens the stream, reads it, and opens it again with growing pauses until stopped. */
export function keepListening(
  door: Door,
  ear: Ear,
  open: (base: Pick<HttpRequest, 'signal' | 'onEvent'>) => HttpRequest,
): () => void {
  const lane = { ...door, dispatcher: door.streams ?? door.dispatcher };
  const stop = new AbortController();
  let pauseMs = FIRST_PAUSE_MS;
  let cancelPause: Cancel | undefined;
  let wasOpen = false;
  const opened = (): void => {
    wasOpen = true;
    pauseMs = FIRST_PAUSE_MS;
  };
  const once = async (): Promise<void> => {
    let status = 0;
    let retryMs: number | undefined;
    try {
      const request = open({ signal: stop.signal, onEvent: (data) => hear(ear, data) });
      const answer = await exchange(lane, { ...request, onStream: opened });
      status = answer.status;
      retryMs = answer.reader?.retryMs;
    } catch {
      // Unreachable or cut: tried again below, unless nobody listens any more.
    }
    if (stop.signal.aborted) return;
    // From a server that never had such a stream they say no more than 405 does.
    if ((status === 404 || status === 401) && wasOpen) ear.onLost();
    if (FINAL.has(status)) return;
    const pause = Math.min(Math.max(retryMs ?? 0, pauseMs), LONGEST_PAUSE_MS);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    cancelPause = door.clock.after(pause, () => void once());
  };
  void once();
  return () => {
    cancelPause?.();
    stop.abort(new Error('nobody listens any more'));
  };
}

function hear(ear: Ear, data: string): false {
  if (data.length > MAX_NOTICE_BYTES) return false;
  try {
    const message: unknown = JSON.parse(Buffer.from(data, 'latin1').toString('utf8'));
    if (isJsonObject(message) && typeof message['method'] === 'string') {
      if (message['id'] === undefined) ear.onMethod(message['method']);
      else ear.onServerRequest(data);
    }
  } catch {
    // One unreadable event does not end the stream.
  }
  return false;
}
