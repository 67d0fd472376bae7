// JSON that costs more to read than to send: deep, wide, long, or with two meanings.
import { type AnswerAttacks, lines, MIB, raw, result } from './answer-attack.ts';

export const RESULTS: AnswerAttacks = {
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
};
