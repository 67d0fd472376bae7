// How deep and how wide a message may be, whatever the pieces are in which it comes.
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageBounds } from '../../src/agent/message-bounds.ts';
import { type Body, readBody } from '../../src/agent/read-body.ts';

function problemOf(...chunks: readonly Uint8Array[]): string | undefined {
  const bounds = new MessageBounds();
  for (const chunk of chunks) bounds.see(Buffer.from(chunk));
  return bounds.problem;
}

const problemIn = (text: string): string | undefined => problemOf(Buffer.from(text));
const nested = (depth: number): string =>
  `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`;
const wide = (commas: number): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":[${'1,'.repeat(commas)}1]}}`;
const TOO_DEEP = 'The message is nested more than 128 levels deep.';
const TOO_WIDE = 'The message has more than 100000 values.';

describe('a message', () => {
  it('B078: may be nested 128 levels deep', () => {
    expect(problemIn(nested(126))).toBeUndefined();
    expect(problemIn(nested(127))).toBe(TOO_DEEP);
    expect(problemIn('['.repeat(1_000_000))).toBe(TOO_DEEP);
    expect(problemIn('{"a":'.repeat(129))).toBe(TOO_DEEP);
    expect(problemIn(`[${'[],'.repeat(1_000)}0]`), 'what is closed is left').toBeUndefined();
  });

  it('may have a hundred thousand values', () => {
    // Three commas are between the members of the message itself.
    expect(problemIn(wide(99_996))).toBeUndefined();
    expect(problemIn(wide(99_997))).toBe(TOO_WIDE);
  });

  it('may say anything in its texts', () => {
    expect(problemIn(JSON.stringify({ a: ','.repeat(300_000), b: '[{'.repeat(1_000) }))).toBeUndefined();
    expect(problemIn(JSON.stringify({ a: '"'.repeat(1_000), b: '\\"[{\\'.repeat(1_000) }))).toBeUndefined();
    expect(problemIn(`${JSON.stringify('\\'.repeat(7))}${'['.repeat(129)}`), 'behind them it counts').toBe(TOO_DEEP);
  });

  it('is judged the same in whatever pieces it comes', () => {
    const sign = fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', 'é', '😀');
    const verdicts = new Set<string | undefined>();
    fc.assert(
      fc.property(
        fc.array(sign, { maxLength: 30, size: 'max' }),
        fc.integer({ min: 120, max: 132 }),
        fc.constantFrom('', '"', '\\"'),
        fc.array(fc.nat(), { maxLength: 8, size: 'max' }),
        (signs, levels, quote, cuts) => {
          const bytes = Buffer.from(`${signs.join('')}${'['.repeat(levels)}${quote}${'['.repeat(130)}`);
          const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
          const chunks = places.slice(1).map((end, nth) => bytes.subarray(places[nth], end));
          expect(problemOf(...chunks)).toBe(problemOf(bytes));
          verdicts.add(problemOf(bytes));
        },
      ),
      { numRuns: 2_000 },
    );
    expect(verdicts, 'both were met').toEqual(new Set([undefined, TOO_DEEP]));
  });

  it('is as wide in pieces as in one', () => {
    const inPieces = (text: string): string | undefined =>
      problemOf(...Array.from({ length: 8 }, (_, nth) => Buffer.from(text).subarray(nth * 40_000, (nth + 1) * 40_000)));
    expect(inPieces(wide(99_996))).toBeUndefined();
    expect(inPieces(wide(99_997))).toBe(TOO_WIDE);
  });
});

describe('a body', () => {
  const read = (...chunks: readonly (Buffer | string)[]): Promise<Body> => {
    const request = Object.assign(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), { headers: {} });
    return new Promise((resolve) => readBody(request as never, resolve));
  };

  it('is read whole, also where a character is cut', async () => {
    const bytes = Buffer.from('{"a":"é"}');
    expect(await read(bytes.subarray(0, 7), bytes.subarray(7))).toEqual({ kind: 'read', text: '{"a":"é"}' });
  });

  it('that is too deep or too wide is let by to its end, and none of it is given on', async () => {
    expect(await read('['.repeat(200), '['.repeat(200), ']')).toEqual({ kind: 'out_of_bounds', problem: TOO_DEEP });
    expect(await read(nested(127).slice(0, 100), nested(127).slice(100))).toEqual({
      kind: 'out_of_bounds',
      problem: TOO_DEEP,
    });
    expect(await read(wide(200_000), 'and so on')).toEqual({ kind: 'out_of_bounds', problem: TOO_WIDE });
  });

  it('that is too large is told as that, whatever is in it', async () => {
    expect(await read('['.repeat(200), ' '.repeat(5_000_000))).toEqual({ kind: 'too_large' });
  });
});
