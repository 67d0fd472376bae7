import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProxyError } from '../../src/shared/errors.ts';
import { asciiJson, Reply } from '../../src/wire/reply.ts';
import { between, jsonObjects, jsonValues, objectText, parseSpelled } from './json-text.ts';

const read = (text: string): Reply | undefined => Reply.from(Buffer.from(text));

function readAnswer(text: string): Reply {
  const reply = read(text);
  if (reply === undefined) throw new Error(`taken for no answer: ${text}`);
  return reply;
}

const written = (parts: readonly (Buffer | string)[]): string =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))).toString();

const refusal = (text: string): unknown => {
  try {
    return read(text);
  } catch (error) {
    return error;
  }
};

/** An answer in any order of its members, long if wished; `id` as text. */
const answers = fc
  .record({
    id: fc.oneof(fc.nat().map(String), fc.constantFrom('"7"', '0')),
    kind: fc.constantFrom('result' as const, 'error' as const),
    inner: jsonObjects.map(({ text }) => text),
    version: fc.constantFrom('"2.0"', '"1.0"'),
    extra: fc.option(jsonValues, { nil: '1' }),
    order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4, maxLength: 4 }),
    gaps: between,
  })
  .map(({ id, kind, inner, version, extra, order, gaps }) => ({
    id,
    kind,
    written: (pad: string) => {
      const payload = pad === '' ? inner : `{"pad":"${pad}","inner":${inner}}`;
      const all: [string, string][] = [
        ['jsonrpc', version],
        ['id', id],
        [kind, payload],
        ['x', extra],
      ];
      const members = order.flatMap((at) => all.slice(at, at + 1));
      return { payload, text: objectText(members, gaps) };
    },
  }));

describe('Reply.from', () => {
  it('finds the id wherever it stands, whatever the payload holds', () => {
    fc.assert(
      fc.property(answers, ({ id, kind, written: write }) => {
        const reply = readAnswer(write('').text);
        expect(reply.idText).toBe(id);
        expect(reply.isError).toBe(kind === 'error');
      }),
      { numRuns: 1_000 },
    );
  });

  it('B122: keeps every byte but those of the id, also digits that JavaScript would round', () => {
    fc.assert(
      fc.property(answers, fc.constantFrom('1', '"agent"', '-5', asciiJson('ü"')), ({ written: write }, idText) => {
        const { text, payload } = write('');
        const out = written(readAnswer(text).parts(idText));
        const { id, ...rest } = parseSpelled(out) as Record<string, unknown>;
        const { id: _, ...before } = parseSpelled(text) as Record<string, unknown>;
        expect(rest).toEqual(before);
        expect(id).toEqual(parseSpelled(idText));
        expect(out).toContain(payload);
      }),
      { numRuns: 1_000 },
    );
  });

  it('reads a big body of one long text as quickly as it should, and right', () => {
    const text = `${'lorem "ipsum" \\ '.repeat(60_000)}","id":5}`;
    const reply = readAnswer(
      `{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":${JSON.stringify(text)}}]},"id":41}`,
    );
    expect(reply.idText).toBe('41');
    const { start, end } = reply.payloadSpan ?? { start: 0, end: 0 };
    expect(JSON.parse(reply.bytes.toString('utf8', start, end))).toEqual({ content: [{ type: 'text', text }] });
  });

  it('tells requests and notifications from answers, in any order of their members', () => {
    const calls = fc
      .record({
        id: fc.option(fc.nat().map(String)),
        params: fc.option(jsonObjects),
        order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
        gaps: between,
      })
      .map(({ id, params, order, gaps }) => {
        const all: (readonly [string, string | undefined])[] = [
          ['jsonrpc', '"2.0"'],
          ['method', '"notifications/message"'],
          ['id', id ?? undefined],
          ['params', params?.text],
        ];
        const members = order.flatMap((at) => all.slice(at, at + 1));
        return objectText(
          members.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
          gaps,
        );
      });
    fc.assert(
      fc.property(calls, (text) => {
        expect(read(text)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it('refuses every message that was cut short, and throws nothing but upstream_protocol', () => {
    fc.assert(
      fc.property(
        answers,
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        ({ written: write }, share) => {
          const { text } = write('');
          const cut = text.trimEnd().slice(0, Math.floor(text.trimEnd().length * share));
          expect(refusal(cut)).toMatchObject({ code: 'upstream_protocol' });
        },
      ),
      { numRuns: 500 },
    );
  });

  it('never crashes on garbage', () => {
    const garbage = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.tuple(answers, fc.nat(), fc.nat(255)).map(([{ written: write }, at, byte]) => {
        const bytes = Buffer.from(write('').text);
        bytes[at % bytes.length] = byte;
        return bytes;
      }),
    );
    fc.assert(
      fc.property(garbage, (bytes) => {
        try {
          Reply.from(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(ProxyError);
          expect(error).toMatchObject({ code: 'upstream_protocol' });
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['nothing', ''],
    ['a list of answers', '[{"jsonrpc":"2.0","id":1,"result":{}}]'],
    ['text', '"hello"'],
    ['no JSON', '<!doctype html>'],
    ['neither result nor error', '{"jsonrpc":"2.0","id":1}'],
    ['no id', '{"jsonrpc":"2.0","result":{}}'],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"result":{}}'],
    ['something behind the end', '{"jsonrpc":"2.0","id":1,"result":{}}x'],
    ['a second message behind the first', '{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}'],
    ['a member that is no value', '{"jsonrpc":"2.0","x":abc,"id":1,"result":{}}'],
    ['a missing last brace', '{"jsonrpc":"2.0","id":1,"result":{"content":[]}'],
  ])('refuses %s', (_, text) => {
    expect(refusal(text)).toMatchObject({ code: 'upstream_protocol' });
  });

  it('takes an error of a request that could not be read: its id is null (B121)', () => {
    const reply = readAnswer('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}');
    expect(reply).toMatchObject({ isError: true, idText: 'null' });
  });

  it('replaces bytes that are no UTF-8, so that no agent chokes on them', () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"t":"caf?"}}');
    bytes[bytes.indexOf('?')] = 0xe9;
    expect(written(Reply.from(bytes)?.parts('1') ?? [])).toBe('{"jsonrpc":"2.0","id":1,"result":{"t":"caf\ufffd"}}');
  });
});

describe('a long answer', () => {
  it('is told as a short one is: the same id, the same bytes, the same size', () => {
    fc.assert(
      fc.property(answers, ({ id, kind, written: write }) => {
        const { payload, text } = write('lorem ipsum '.repeat(2_000));
        const reply = readAnswer(text);
        expect([reply.idText, reply.isError]).toEqual([id, kind === 'error']);
        // What stands behind the payload may count as part of it, but never less than it.
        expect(reply.payloadBytes).toBeGreaterThanOrEqual(Buffer.byteLength(payload));
        expect(reply.payloadBytes).toBeLessThan(Buffer.byteLength(text));
        expect(reply.bytes.toString()).toContain(payload);
        expect(JSON.parse(written(reply.parts('"mine"')))).toEqual({ ...(JSON.parse(text) as object), id: 'mine' });
      }),
      { numRuns: 300 },
    );
  });
});

describe('a message that would mean one thing to us and another to an agent', () => {
  // An agent knows by the id which of its requests was answered: a second one would answer a request to another server.
  it.each([
    ['twice, the second behind the result', '{"jsonrpc":"2.0","id":5,"result":{"a":1},"id":7}', '7'],
    ['twice before the result', '{"jsonrpc":"2.0","id":7,"id":5,"result":{"a":1}}', '5'],
    ['again in disguise', '{"jsonrpc":"2.0","id":5,"result":{"a":1},"\\u0069d":7}', '7'],
    ['again in disguise, and the id once more', '{"\\u0069d":7,"jsonrpc":"2.0","result":{"a":1},"id":5}', '5'],
    ['again behind a nested member', '{"jsonrpc":"2.0","id":5,"result":{"a":1},"id":7,"x":{}}', '7'],
  ])("leaves with the agent's id only, when the id stands there %s", (_, text, idText) => {
    // Long answers are read in another way.
    for (const pad of ['', 'x'.repeat(20_000)]) {
      const result = `{"a":1,"pad":"${pad}"}`;
      const reply = readAnswer(text.replace('{"a":1}', result));
      expect(reply.idText).toBe(idText);
      expect(written(reply.parts('99'))).toBe(`{"jsonrpc":"2.0","id":99,"result":${result}}`);
    }
  });

  it('is an error when it has both a result and an error', () => {
    const reply = readAnswer('{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":-1,"message":"and yet"}}');
    expect(reply.isError).toBe(true);
    expect(written(reply.parts('1'))).toBe('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"and yet"}}');
  });

  it('is no answer when it has a method as well', () => {
    expect(read('{"jsonrpc":"2.0","id":5,"result":{},"method":"sampling/createMessage"}')).toBeUndefined();
  });
});

describe('Reply.parts', () => {
  it('puts members first into an object, empty or not', () => {
    fc.assert(
      fc.property(jsonObjects, fc.boolean(), ({ text, members }, isTrailing) => {
        const message = isTrailing
          ? `{"jsonrpc":"2.0","result":${text},"id":5}`
          : `{"jsonrpc":"2.0","id":5,"result":${text}}`;
        const reply = readAnswer(message);
        const at = reply.objectAt;
        if (at === undefined) throw new Error('the result is an object');
        const out = written(reply.parts('"mine"', [reply.insertInto(at, '"new member":true,"second":[]')]));
        const expected = { 'new member': true, second: [], ...(parseSpelled(text) as object) };
        expect(parseSpelled(out)).toMatchObject({ id: 'mine', result: expected });
        if (members.length > 0) expect(out).toContain(text.trimStart().slice(1));
      }),
      { numRuns: 500 },
    );
  });

  it('makes several edits at their places, whatever order they are given in', () => {
    const reply = readAnswer('{"jsonrpc":"2.0","id":5,"result":{"_meta":{"a":1},"content":[]}}');
    const inner = reply.insertInto(reply.memberAt('_meta') ?? 0, '"b":2');
    const outer = reply.insertInto(reply.objectAt ?? 0, '"c":3');
    expect(written(reply.parts('6', [inner, outer]))).toBe(
      '{"jsonrpc":"2.0","id":6,"result":{"c":3,"_meta":{"b":2,"a":1},"content":[]}}',
    );
  });
});

describe('Reply.of', () => {
  it('writes an answer that reads back as itself', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.nat(), fc.string()),
        fc.jsonValue(),
        fc.constantFrom('result', 'error'),
        (id, payload, kind) => {
          const reply = Reply.of(id, kind === 'error' ? { error: payload } : { result: payload });
          expect(JSON.parse(written(reply.parts(reply.idText)))).toEqual(
            JSON.parse(JSON.stringify({ jsonrpc: '2.0', id, [kind]: payload })),
          );
          expect(written(reply.parts('3'))).toBe(JSON.stringify({ jsonrpc: '2.0', id: 3, [kind]: payload }));
          expect(reply.payloadBytes).toBe(Buffer.byteLength(JSON.stringify(payload)));
        },
      ),
    );
  });
});

describe('asciiJson', () => {
  it('is plain ASCII and means the same', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, text) => {
        const json = asciiJson([value, text]);
        expect(json).toMatch(/^[\u0000-\u007e]*$/);
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify([value, text])));
      }),
    );
  });
});
