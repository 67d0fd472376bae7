// Answers that are too much, as bytes: packed, without end, or so slow or so finely cut that they cost more than they are.
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import type { ScriptedCall } from '../scripted-upstream.ts';
import { type AnswerAttack, type AnswerAttacks, bare, HEAD, JSON_TYPE, MIB, once, pour } from './answer-attack.ts';
import { resultText } from './message.ts';
import { startEvents } from './responses.ts';

const ZEROES = once(() => Buffer.alloc(64 * MIB, '0'));
/** As tightly as it can Brotli packs for seconds, while the call waits. */
const packQuickly = (input: Buffer): Buffer =>
  brotliCompressSync(input, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
const bomb = (coding: string, pack: (input: Buffer) => Buffer, type = 'application/json'): AnswerAttack['answer'] => {
  const packed = once(() => pack(ZEROES()));
  return ({ res }) => {
    res.writeHead(200, { 'content-type': type, 'content-encoding': coding });
    res.end(packed());
  };
};

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

export const BODIES: AnswerAttacks = {
  'a gzip bomb': { answer: bomb('gzip', gzipSync), outcome: 'upstream_protocol' },
  'a deflate bomb': { answer: bomb('deflate', deflateSync), outcome: 'upstream_protocol' },
  'a brotli bomb': { answer: bomb('br', packQuickly), outcome: 'upstream_protocol' },
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
};
