// How a hostile answer is written: as a whole JSON body, as an event stream, or beneath HTTP.
import type { ServerResponse } from 'node:http';
import type { ScriptedCall } from '../scripted-upstream.ts';
import { resultText } from './message.ts';
import { eventText, startEvents } from './responses.ts';

export interface AnswerAttack {
  readonly answer: (call: ScriptedCall) => void;
  /** `served`: with a result, perhaps a cut one. */
  readonly outcome: 'served' | 'upstream_protocol' | 'upstream_unavailable' | 'upstream_timeout';
}

export type AnswerAttacks = Readonly<Record<string, AnswerAttack>>;

export const MIB = 1024 * 1024;
export const JSON_TYPE = { 'content-type': 'application/json' };
/** A good result. */
export const GOOD = '{"resultType":"complete","content":[{"type":"text","text":"fine"}]}';

/** Large texts are made at the first use. */
export const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};

/** A whole answer with this result, made at the first use. */
export function result(json: () => string): AnswerAttack['answer'] {
  const text = once(json);
  return ({ res, id }) => {
    const bytes = Buffer.from(resultText(id, text()));
    res.writeHead(200, { ...JSON_TYPE, 'content-length': bytes.length });
    res.end(bytes);
  };
}

/** A whole answer that is this text. */
export function raw(text: (id: string) => Buffer | string): AnswerAttack['answer'] {
  return ({ res, id }) => {
    const bytes = Buffer.from(text(String(id)) as string);
    res.writeHead(200, { ...JSON_TYPE, 'content-length': bytes.length });
    res.end(bytes);
  };
}

/** Writes the chunk for as long as it is taken. */
export function pour(res: ServerResponse, chunk: Buffer | string, bytes = Number.POSITIVE_INFINITY): void {
  let left = bytes;
  const more = (): void => {
    while (!res.destroyed && left > 0) {
      left -= chunk.length;
      if (!res.write(chunk)) return void res.once('drain', more);
    }
    if (left <= 0) res.end();
  };
  more();
}

/** Beneath HTTP: what is written is all that goes out. */
export const bare =
  (write: (socket: NonNullable<ServerResponse['socket']>, call: ScriptedCall) => void): AnswerAttack['answer'] =>
  (call) => {
    const { socket } = call.res;
    if (socket === null) return;
    socket.on('error', () => {});
    write(socket, call);
  };

/** Says the start of a JSON answer; more header lines may follow. */
export const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

/** An event stream of these messages, which then ends. */
export const stream =
  (events: (call: ScriptedCall) => readonly string[]): AnswerAttack['answer'] =>
  (call) => {
    startEvents(call.res);
    call.res.end(events(call).map(eventText).join(''));
  };

export const lines = (count: number, line: (nth: number) => string): string =>
  Array.from({ length: count }, (_, nth) => line(nth)).join(',');
