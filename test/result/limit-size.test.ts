import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { limitSize as limitBytes } from '../../src/result/limit-size.ts';
import type { JsonObject } from '../../src/wire/reply.ts';

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
/** Cuts what the proxy would have got of this result. */
const limitSize = (result: JsonObject, maxBytes: number): JsonObject =>
  JSON.parse(limitBytes(Buffer.from(JSON.stringify(result)), maxBytes).toString()) as JsonObject;
const blocksOf = (result: JsonObject): readonly JsonObject[] => result['content'] as readonly JsonObject[];
const textOf = (block: JsonObject | undefined): string => String(block?.['text']);

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400, size: 'max' }),
  fc.string({ unit: fc.constantFrom('漢', '😀', '"', '\n', 'a', '\u0000'), maxLength: 800, size: 'max' }),
);
const blocks = fc.oneof(
  texts.map((text) => ({ type: 'text', text })),
  fc.nat(900).map((n) => ({ type: 'image', mimeType: 'image/png', data: 'A'.repeat(n) })),
  fc.nat(900).map((n) => ({
    type: 'resource',
    resource: { uri: 'file:///x', mimeType: 'application/pdf', blob: 'A'.repeat(n) },
  })),
  fc.record({ type: fc.constant('hologram'), voxels: fc.string(), _meta: fc.dictionary(fc.string(), fc.string()) }),
  fc.jsonValue({ maxDepth: 2 }),
);
const results = fc
  .record(
    {
      content: fc.array(blocks, { maxLength: 6 }),
      structuredContent: fc.dictionary(fc.string(), fc.jsonValue()),
      isError: fc.boolean(),
      _meta: fc.dictionary(fc.string(), texts),
      'x-new': fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  .map((result): JsonObject => result);

describe('limitSize', () => {
  it('B109: never exceeds its budget, the note included', () => {
    fc.assert(
      fc.property(results, fc.integer({ min: 300, max: 3_000 }), (result, maxBytes) => {
        fc.pre(sizeOf(result) > maxBytes);
        expect(sizeOf(limitSize(result, maxBytes))).toBeLessThanOrEqual(maxBytes);
      }),
      { numRuns: 2_000 },
    );
  });

  it('below what the note needs, leaves nothing but the note', () => {
    for (const maxBytes of [64, 100, 150, 199]) {
      const cut = limitSize(
        {
          content: [
            { type: 'text', text: 'x'.repeat(500) },
            { type: 'image', mimeType: 'image/png', data: 'A'.repeat(500) },
          ],
        },
        maxBytes,
      );
      expect(blocksOf(cut)).toHaveLength(1);
      expect(textOf(blocksOf(cut)[0])).toMatch(/^\[Cut by the proxy: \d+ of \d+ bytes are missing\.\]$/);
      expect(sizeOf(cut)).toBeLessThan(200);
    }
  });

  it('B107: counts bytes, and never splits a character', () => {
    fc.assert(
      fc.property(fc.constantFrom('漢', '😀', 'é', 'a😀漢'), fc.integer({ min: 300, max: 700 }), (unit, maxBytes) => {
        const text = unit.repeat(500);
        const [kept] = blocksOf(limitSize({ content: [{ type: 'text', text }] }, maxBytes));
        expect(textOf(kept)).not.toMatch(/\ufffd/);
        expect(Buffer.from(textOf(kept)).toString()).toBe(textOf(kept));
        expect(text.startsWith(textOf(kept))).toBe(true);
      }),
    );
  });

  it('keeps about as much text as there is room for', () => {
    const cut = limitSize({ content: [{ type: 'text', text: 'x'.repeat(200_000) }] }, 131_072);
    expect(textOf(blocksOf(cut)[0]).length).toBeGreaterThan(130_000);
  });

  it('says how much is missing of how much', () => {
    const result = { content: [{ type: 'text', text: 'x'.repeat(10_000) }] };
    const cut = limitSize(result, 1_000);
    const [, missing, original] = /(\d+) of (\d+)/.exec(textOf(blocksOf(cut)[1])) ?? [];
    expect(Number(original)).toBe(sizeOf(result));
    expect(Number(missing)).toBe(sizeOf(result) - sizeOf({ content: blocksOf(cut).slice(0, 1) }));
  });

  it('B110: leaves an image out whole and says what it was; never half of it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 300, max: 3_000 }), (maxBytes) => {
        const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(300_000) };
        const pdf = {
          type: 'resource',
          resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: 'B'.repeat(100_000) },
        };
        const small = { type: 'text', text: 'small' };
        const cut = blocksOf(limitSize({ content: [image, pdf, small] }, maxBytes));
        expect(cut.filter(({ type }) => type !== 'text')).toEqual([]);
        if (maxBytes > 500) expect(cut.map(textOf)).toContain(`[image/png of ${sizeOf(image)} bytes left out]`);
        if (maxBytes > 500) expect(cut).toContainEqual(small);
      }),
    );
  });

  it('keeps an image that fits, and cuts the text behind it', () => {
    const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(100) };
    const cut = blocksOf(limitSize({ content: [image, { type: 'text', text: 'x'.repeat(5_000) }] }, 1_000));
    expect(cut[0]).toEqual(image);
    expect(textOf(cut[1]).length).toBeGreaterThan(300);
  });

  it('B110: never cuts structured content, and says that it is missing', () => {
    const cut = limitSize(
      {
        content: [{ type: 'text', text: 'short' }],
        structuredContent: { list: Array.from({ length: 500 }, (_, i) => i) },
      },
      1_000,
    );
    expect(cut).not.toHaveProperty('structuredContent');
    expect(cut['isError']).toBe(true);
    expect(textOf(blocksOf(cut).at(-1))).toContain('Structured content left out.');
    expect(blocksOf(cut)[0]).toEqual({ type: 'text', text: 'short' });
  });

  it('keeps small structured content beside a text that is cut', () => {
    const structuredContent = { ok: true };
    const cut = limitSize({ content: [{ type: 'text', text: 'x'.repeat(5_000) }], structuredContent }, 1_000);
    expect(cut).toMatchObject({ structuredContent });
    expect(cut).not.toHaveProperty('isError');
  });

  it('keeps the other members, an error an error, and the result type, however large the rest', () => {
    const content = [{ type: 'text', text: 'x'.repeat(5_000) }];
    expect(limitSize({ content, isError: true, 'x-new': 1 }, 1_000)).toMatchObject({ isError: true, 'x-new': 1 });
    const crowded = limitSize(
      { resultType: 'complete', content, isError: true, _meta: { big: 'y'.repeat(5_000) } },
      1_000,
    );
    expect(crowded).toMatchObject({ resultType: 'complete', isError: true });
    expect(crowded).not.toHaveProperty('_meta');
  });

  it('takes content that is no list, and blocks that are no objects, for what they are', () => {
    for (const content of ['x'.repeat(5_000), { a: 'x'.repeat(5_000) }, ['x'.repeat(5_000), null, 7]]) {
      const cut = limitSize({ content }, 1_000);
      expect(sizeOf(cut)).toBeLessThanOrEqual(1_000);
      expect(blocksOf(cut).at(-1)).toMatchObject({ type: 'text' });
    }
  });

  it('makes no object for each of a million blocks or members, and looks at fifty thousand', () => {
    const made = vi.spyOn(Buffer.prototype, 'subarray');
    try {
      for (const separator of [',', ', \n']) {
        const text = `{"content":[${Array.from({ length: 1_000_000 }, () => '1').join(separator)}]}`;
        const cut = JSON.parse(limitBytes(Buffer.from(text), 1_000_000).toString()) as JsonObject;
        expect(blocksOf(cut)).toHaveLength(50_001);
        expect(textOf(blocksOf(cut).at(-1))).toMatch(/\d+ of \d+ bytes are missing/);
      }
      const content = `"content":["${'x'.repeat(1_000_000)}"]`;
      for (const member of ['"":1', '"isError":false,"":1']) {
        const rest = Array.from({ length: 40_000 }, () => member).join(',');
        const cut = JSON.parse(limitBytes(Buffer.from(`{${rest},${content}}`), 1_000_000).toString()) as JsonObject;
        expect(blocksOf(cut)).toHaveLength(1);
      }
      expect(made.mock.calls.length).toBeLessThan(200);
    } finally {
      made.mockRestore();
    }
  });

  it('looks at ten thousand members of a result and of a block', () => {
    const members = (count: number): string => Array.from({ length: count }, (_, nth) => `"k${nth}":1`).join(',');
    const [text, big] = [`"text":"${'x'.repeat(5_000)}"`, 1_000];
    const blocksIn = (result: string) =>
      blocksOf(JSON.parse(limitBytes(Buffer.from(result), big).toString()) as JsonObject);
    const behind = (count: number) => blocksIn(`{${members(count)},"content":[{"type":"text",${text}}]}`);
    expect(behind(9_999)).toHaveLength(2);
    expect(behind(10_000), 'nothing but the note').toHaveLength(1);
    const within = (count: number) => textOf(blocksIn(`{"content":[{"type":"text",${members(count)},${text}}]}`)[0]);
    expect(within(9_998), 'too much around the text to keep any').toMatch(/^\[Cut by/);
    expect(within(9_999)).toMatch(/^\[text of \d+ bytes left out/);
  });

  it('keeps whole blocks as they stand, before and behind what is left out', () => {
    const [a, b, c] = ['"a"', '{"b": [1, 2]}', 'null'];
    const text = `{ "x" : 1 , "y":[2] , "content" : [ ${a} , ${b},"${'x'.repeat(5_000)}", ${c} ,${a}] , "z":3 }`;
    const cut = JSON.parse(limitBytes(Buffer.from(text), 1_000).toString()) as JsonObject;
    expect(cut).toMatchObject({ x: 1, y: [2], z: 3 });
    expect(blocksOf(cut).slice(0, -1)).toEqual(['a', { b: [1, 2] }, null, 'a']);
  });
});
