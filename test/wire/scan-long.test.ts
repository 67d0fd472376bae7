// Long answers are read from their ends; what the ends do not settle is walked or parsed as before.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Reply } from '../../src/wire/reply.ts';

const PADDING = 'The quick brown fox said \\"jump\\" over the lazy dog. '.repeat(400);

/** What an agent would read, with its own id in place of ours. */
const readBy = (text: string): unknown =>
  JSON.parse(
    Reply.from(Buffer.from(text))
      ?.parts('"agent"')
      .map((part) => part.toString())
      .join('') ?? 'null',
  );

const member = fc.constantFrom(
  '"jsonrpc":"2.0"',
  '"id":7',
  '"id": 7 ',
  '"id":"x"',
  '"extra":{"id":7}',
  '"error":{"code":1,"message":""}',
  '"\\u0069d":5',
);
const inside = fc.constantFrom(
  '',
  '"id":7,',
  '"a":"\\"id\\":7}",',
  '"result":{"id":7},',
  '"a":[{"id":1}],',
  '"a":"\\u0022",',
);

describe('a long answer', () => {
  it('is the same for an agent but for its id, in every order of members', () => {
    fc.assert(
      fc.property(
        fc.array(member, { maxLength: 3 }),
        inside,
        fc.array(member, { maxLength: 3 }),
        (before, inner, after) => {
          const text = `{${[...before, `"result":{${inner}"content":"${PADDING}"}`, ...after].join(',')}}`;
          const message = JSON.parse(text) as Record<string, unknown>;
          let read: unknown;
          try {
            read = readBy(text);
          } catch {
            return; // refused: it has no id that could be told, or both a result and an error
          }
          // Whatever was written twice or in disguise, the agent finds its own id and no other.
          const expected = message['error'] === undefined ? { result: message['result'] } : { error: message['error'] };
          expect(read).toMatchObject({ id: 'agent', ...expected });
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('says how large its result is, to the byte', () => {
    const result = `{"content":"${PADDING}"}`;
    for (const text of [
      `{"jsonrpc":"2.0","id":7,"result":${result}}`,
      `{"result":${result},"jsonrpc":"2.0","id":7}`,
      `{"id":7,"result":${result},"jsonrpc":"2.0"}`,
      `{"jsonrpc":"2.0","result":${result} , "id" : 7 } \n`,
    ]) {
      expect(Reply.from(Buffer.from(text))?.payloadBytes, text.slice(0, 30)).toBe(Buffer.byteLength(result));
    }
  });

  it('that is cut off is refused', () => {
    expect(() => Reply.from(Buffer.from(`{"jsonrpc":"2.0","id":7,"result":{"content":"${PADDING}"`))).toThrow(
      expect.objectContaining({ code: 'upstream_protocol' }),
    );
  });
});
