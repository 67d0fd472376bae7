// What a hostile server may answer to a call: by name, with what has to become of the call.
import type { ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { ScriptedCall } from '../scripted-upstream.ts';
import { resultText } from './message.ts';
import { eventText, startEvents } from './responses.ts';

export interface AnswerAttack {
  readonly answer: (call: ScriptedCall) => void;
  /** `served`: with a result, perhaps a cut one. */
  readonly outcome: 'served' | 'upstream_protocol' | 'upstream_unavailable' | 'upstream_timeout';
}

const MIB = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };

const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};

/** A whole answer with this result, made at the first use. */
function result(json: () => string): AnswerAttack['answer'] {
  const text = once(json);
  return ({ res, id }) => {
    const bytes = Buffer.from(resultText(id, text()));
    res.writeHead(200, { ...JSON_TYPE, 'content-length': bytes.length });
    res.end(bytes);
  };
}

function raw(text: (id: string) => Buffer | string): AnswerAttack['answer'] {
  return ({ res, id }) => {
    const bytes = Buffer.from(text(String(id)) as string);
    res.writeHead(200, { ...JSON_TYPE, 'content-length': bytes.length });
    res.end(bytes);
  };
}

const ZEROES = once(() => Buffer.alloc(64 * MIB, '0'));
const bomb = (coding: string, pack: (input: Buffer) => Buffer, type = 'application/json'): AnswerAttack['answer'] => {
  const packed = once(() => pack(ZEROES()));
  return ({ res }) => {
    res.writeHead(200, { 'content-type': type, 'content-encoding': coding });
    res.end(packed());
  };
};

/** Writes the chunk for as long as it is taken. */
function pour(res: ServerResponse, chunk: Buffer | string, bytes = Number.POSITIVE_INFINITY): void {
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
const bare =
  (write: (socket: NonNullable<ServerResponse['socket']>, call: ScriptedCall) => void): AnswerAttack['answer'] =>
  (call) => {
    const { socket } = call.res;
    if (socket === null) return;
    socket.on('error', () => {});
    write(socket, call);
  };

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const GOOD = '{"resultType":"complete","content":[{"type":"text","text":"fine"}]}';

const drip = (call: ScriptedCall): void => {
  const { res } = call;
  res.writeHead(200, JSON_TYPE);
  const timer = setInterval(() => res.write(' '), 20);
  res.once('close', () => clearInterval(timer));
};

const endlessLines = (line: string): AnswerAttack['answer'] =>
  bare((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const more = (): void => {
      while (!socket.destroyed) if (!socket.write(line)) return void socket.once('drain', more);
    };
    more();
  });

const slowHead = bare((socket) => {
  socket.write('HTTP/1.1 200 OK\r\n');
  const timer = setInterval(() => socket.write('x-a: b\r\n'), 50);
  socket.once('close', () => clearInterval(timer));
});

const lines = (count: number, line: (nth: number) => string): string =>
  Array.from({ length: count }, (_, nth) => line(nth)).join(',');

const storm = once(() =>
  Buffer.from(
    eventText('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"again"}}').repeat(
      600,
    ),
  ),
);
const comments = Buffer.from(': still here\n\n'.repeat(1_000));

const stream =
  (events: (call: ScriptedCall) => readonly string[]): AnswerAttack['answer'] =>
  (call) => {
    startEvents(call.res);
    call.res.end(events(call).map(eventText).join(''));
  };

export const ANSWERS: Readonly<Record<string, AnswerAttack>> = {
  'a gzip bomb': { answer: bomb('gzip', gzipSync), outcome: 'upstream_protocol' },
  'a deflate bomb': { answer: bomb('deflate', deflateSync), outcome: 'upstream_protocol' },
  'a brotli bomb': { answer: bomb('br', brotliCompressSync), outcome: 'upstream_protocol' },
  'a bomb in a bomb': {
    answer: bomb('gzip, gzip', (input) => gzipSync(gzipSync(input))),
    outcome: 'upstream_protocol',
  },
  'a bomb as an event': { answer: bomb('gzip', gzipSync, 'text/event-stream'), outcome: 'upstream_protocol' },
  'packed bytes that become nothing': {
    answer: ({ res }) => {
      res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' });
      pour(res, Buffer.concat(Array.from({ length: 3_000 }, () => gzipSync(''))));
    },
    outcome: 'upstream_protocol',
  },
  'a byte now and then': { answer: drip, outcome: 'upstream_timeout' },
  'header lines now and then': { answer: slowHead, outcome: 'upstream_timeout' },
  'header lines without end': {
    answer: endlessLines(`x-more: ${'y'.repeat(100)}\r\n`),
    outcome: 'upstream_unavailable',
  },
  'a header line of 100 KB': { answer: endlessLines('y'.repeat(100_000)), outcome: 'upstream_unavailable' },
  'an event of 96 MB without a line end': {
    answer: ({ res }) => {
      startEvents(res);
      res.write('data: ');
      pour(res, Buffer.alloc(65_536, 'x'), 96 * MIB);
    },
    outcome: 'upstream_protocol',
  },
  'a line of 96 MB': {
    answer: ({ res }) => {
      res.writeHead(200, JSON_TYPE);
      res.write('{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"');
      pour(res, Buffer.alloc(65_536, 'x'), 96 * MIB);
    },
    outcome: 'upstream_protocol',
  },
  'a body in chunks of a byte': {
    answer: bare((socket, { id }) => {
      const text = resultText(
        id,
        `{"resultType":"complete","content":[{"type":"text","text":"${'x'.repeat(MIB / 4)}"}]}`,
      );
      const chunks = Buffer.alloc(text.length * 6);
      for (let at = 0; at < text.length; at++) chunks.write(`1\r\n${text[at] ?? ''}\r\n`, at * 6, 'latin1');
      socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
      socket.write(chunks);
      socket.end('0\r\n\r\n');
    }),
    outcome: 'served',
  },
  'an event in chunks of a byte': {
    answer: bare((socket, { id }) => {
      const text = `data: ${resultText(id, `{"resultType":"complete","content":[{"type":"text","text":"${'x'.repeat(MIB / 4)}"}]}`)}\n\n`;
      const chunks = Buffer.alloc(text.length * 6);
      for (let at = 0; at < text.length; at++) chunks.write(`1\r\n${text[at] ?? ''}\r\n`, at * 6, 'latin1');
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
      socket.write(chunks);
      socket.end('0\r\n\r\n');
    }),
    outcome: 'served',
  },
  'signs of life without end': {
    answer: ({ res }) => {
      startEvents(res);
      const timer = setInterval(() => res.write(comments), 5);
      res.once('close', () => clearInterval(timer));
    },
    outcome: 'upstream_timeout',
  },
  'a storm of notifications': {
    answer: ({ res }) => {
      startEvents(res);
      pour(res, storm());
    },
    outcome: 'upstream_timeout',
  },
  'a notification of 15 MB': {
    answer: ({ res, id }) => {
      startEvents(res);
      const params = `{${lines(1_000_000, (nth) => `"k${nth}":1`)}}`;
      res.write(eventText(`{"jsonrpc":"2.0","method":"notifications/message","params":${params}}`));
      res.end(eventText(resultText(id, GOOD)));
    },
    outcome: 'served',
  },
  'ten thousand questions': {
    answer: stream(({ id }) => [
      ...Array.from({ length: 10_000 }, (_, nth) => `{"jsonrpc":"2.0","id":${nth},"method":"ping"}`),
      resultText(id, GOOD),
    ]),
    outcome: 'served',
  },
  'answers to requests that nobody made, and the answer twice': {
    answer: stream(({ id }) => [
      ...Array.from({ length: 2_000 }, (_, nth) => resultText(500_000 + nth, '{"content":[]}')),
      resultText(id, GOOD),
      resultText(id, '{"content":[{"type":"text","text":"second"}]}'),
    ]),
    outcome: 'served',
  },
  'a result 200,000 levels deep': {
    answer: result(() => `{"content":[],"structuredContent":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`),
    outcome: 'served',
  },
  'a result 6,000,000 levels deep': {
    answer: result(() => `{"content":[],"structuredContent":{"a":${'['.repeat(6_000_000)}${']'.repeat(6_000_000)}}}`),
    outcome: 'served',
  },
  'a result of a million members': {
    answer: result(() => `{"content":[],"structuredContent":{${lines(1_000_000, (nth) => `"k${nth}":1`)}}}`),
    outcome: 'served',
  },
  'a million members beside the content': {
    answer: result(() => `{"content":[],${lines(1_000_000, (nth) => `"k${nth}":1`)}}`),
    outcome: 'served',
  },
  'a result of five million lists': {
    answer: result(() => `{"content":[],"structuredContent":{"a":[${'[],'.repeat(5_000_000)}[]]}}`),
    outcome: 'served',
  },
  'a result of five million texts': {
    answer: result(() => `{"content":[],"structuredContent":{"a":[${'"",'.repeat(5_000_000)}""]}}`),
    outcome: 'served',
  },
  'half a million blocks': {
    answer: result(() => `{"content":[${'{"type":"text","text":"a"},'.repeat(500_000)}{"type":"text","text":"z"}]}`),
    outcome: 'served',
  },
  'a text of 15 MB': {
    answer: result(() => `{"content":[{"type":"text","text":"${'x'.repeat(15 * MIB)}"}]}`),
    outcome: 'served',
  },
  'a text of 15 MB in escapes': {
    answer: result(() => `{"content":[{"type":"text","text":"${'\\n'.repeat(7.5 * MIB)}"}]}`),
    outcome: 'served',
  },
  'a text of escaped quotes': {
    answer: result(() => `{"content":[{"type":"text","text":"${'\\"'.repeat(7.5 * MIB)}"}]}`),
    outcome: 'served',
  },
  'a result of blanks': {
    answer: result(() => `{"content":[${'\n'.repeat(15 * MIB)}]}`),
    outcome: 'served',
  },
  'an error of a million members': {
    answer: raw(
      (id) =>
        `{"jsonrpc":"2.0","id":${id},"error":{"code":-1,"message":"no","data":{${lines(900_000, (nth) => `"k${nth}":1`)}}}}`,
    ),
    outcome: 'served',
  },
  'an id in disguise behind a million members': {
    answer: raw((id) => `{"jsonrpc":"2.0","\\u0069d":${id},"result":{${lines(1_000_000, (nth) => `"k${nth}":1`)}}}`),
    outcome: 'upstream_protocol',
  },
  'two ids around a million members': {
    answer: raw(
      (id) => `{"jsonrpc":"2.0","id":${id},"result":{${lines(1_000_000, (nth) => `"k${nth}":1`)}},"id":${id}}`,
    ),
    outcome: 'upstream_protocol',
  },
  'a result that is for another prototype': {
    answer: result(() => '{"content":[{"type":"text","text":"fine"}],"__proto__":{"isError":true,"admin":true}}'),
    outcome: 'served',
  },
  'bytes that are no text': {
    answer: raw((id) =>
      Buffer.concat([
        Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`),
        Buffer.alloc(15 * MIB, 0xff),
        Buffer.from('"}]}}'),
      ]),
    ),
    outcome: 'upstream_protocol',
  },
  'fewer bytes than promised': {
    answer: bare((socket, { id }) => {
      socket.write(`${HEAD}content-length: 100000\r\n\r\n${resultText(id, GOOD)}`);
      socket.end();
    }),
    outcome: 'upstream_unavailable',
  },
  'more bytes than promised': {
    answer: bare((socket, { id }) => {
      const text = resultText(id, GOOD);
      socket.write(`${HEAD}content-length: ${text.length}\r\n\r\n${text}${HEAD}content-length: 2\r\n\r\n{}`);
    }),
    outcome: 'served',
  },
  'two lengths at once': {
    answer: bare((socket, { id }) => {
      const text = resultText(id, GOOD);
      socket.write(
        `${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
      );
    }),
    outcome: 'upstream_unavailable',
  },
  'ten thousand early hints': {
    answer: bare((socket, { id }) => {
      const text = resultText(id, GOOD);
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(10_000));
      socket.end(`${HEAD}content-length: ${text.length}\r\n\r\n${text}`);
    }),
    outcome: 'served',
  },
  'a 204 with a body': {
    answer: bare((socket, { id }) => {
      const text = resultText(id, GOOD);
      socket.write(
        `HTTP/1.1 204 No Content\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
      );
    }),
    outcome: 'upstream_unavailable',
  },
  'a 205 with a body': {
    answer: ({ res, id }) => {
      res.writeHead(205, JSON_TYPE);
      res.end(resultText(id, GOOD));
    },
    outcome: 'upstream_protocol',
  },
  'a part of an answer (206)': {
    answer: ({ res, id }) => {
      res.writeHead(206, { ...JSON_TYPE, 'content-range': 'bytes 0-99/5000' });
      res.end(resultText(id, GOOD));
    },
    outcome: 'upstream_protocol',
  },
};
