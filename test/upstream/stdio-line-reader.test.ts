import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineReader } from '../../src/upstream/line-reader.ts';

function read(chunks: readonly Buffer[], maxBytes: number): { lines: string[]; tooLong: string[] } {
  const lines: string[] = [];
  const tooLong: string[] = [];
  const reader = new LineReader(maxBytes, {
    line: (line) => void lines.push(line.toString()),
    tooLong: (ends) => void tooLong.push(ends.toString()),
  });
  for (const chunk of chunks) reader.push(chunk);
  return { lines, tooLong };
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let from = 0;
  for (const size of [...sizes, bytes.length]) {
    chunks.push(Buffer.from(bytes.subarray(from, from + size)));
    from += size;
  }
  return chunks;
}

describe('lines of a stream', () => {
  it('B052: are the same however the bytes are cut', () => {
    const line = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.replace(/[\r\n]/g, ''));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(9)), (lines, sizes) => {
        const bytes = Buffer.from(lines.map((each) => `${each}\r\n`).join(''));
        const wellFormed = lines.map((each) => Buffer.from(each).toString());
        expect(read(cut(bytes, sizes), 1_000)).toEqual({ lines: wellFormed, tooLong: [] });
      }),
    );
  });

  it('B128: that are too long leave their ends only, and the next line is whole', () => {
    const bytes = Buffer.from(`{"id":1${'x'.repeat(20_000)}"id":7}\nnext\n`);
    for (const size of [1, 7, 1_000, 5_000, 30_000]) {
      const { lines, tooLong } = read(
        cut(
          bytes,
          Array.from({ length: Math.ceil(bytes.length / size) }, () => size),
        ),
        6_000,
      );
      expect(lines).toEqual(['next']);
      expect(tooLong).toHaveLength(1);
      expect(tooLong[0]).toMatch(/^\{"id":1x{100,5000}"id":7\}$/);
    }
  });
});
