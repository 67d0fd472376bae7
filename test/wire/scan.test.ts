import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { idAtEnds, scan } from '../../src/wire/scan.ts';
import { between, jsonObjects, objectText } from './json-text.ts';

const idIn = (text: string): string | undefined => {
  const bytes = Buffer.from(text);
  const span = idAtEnds(bytes);
  return span === undefined ? undefined : bytes.toString('latin1', span.start, span.end);
};

describe('scan', () => {
  it('gives positions that JSON.parse confirms, or says that it cannot tell', () => {
    const names = fc.constantFrom('id', 'jsonrpc', 'method', 'params', 'result', 'error', 'x');
    const values = fc.oneof(
      fc.constantFrom('1', '"2"', 'null', '-3', 'true', '"a\\"b"', '[]'),
      jsonObjects.map(({ text }) => text),
    );
    const messages = fc
      .tuple(fc.array(fc.tuple(names, values), { maxLength: 6 }), between)
      .map(([members, gaps]) => objectText(members, gaps));
    fc.assert(
      fc.property(messages, (text) => {
        const bytes = Buffer.from(text);
        const scanned = scan(bytes);
        if (scanned === undefined) return;
        const parsed = JSON.parse(text) as Record<string, unknown>;
        const valueOf = (span: { start: number; end: number }): unknown =>
          JSON.parse(bytes.toString('utf8', span.start, span.end));
        if (scanned.id !== undefined) expect(valueOf(scanned.id)).toEqual(parsed['id']);
        else expect(parsed['id']).toBeUndefined();
        const name = scanned.kind === 'call' ? 'params' : scanned.kind;
        if (scanned.payload !== undefined) expect(valueOf(scanned.payload)).toEqual(parsed[name]);
        expect('method' in parsed).toBe(scanned.kind === 'call');
        expect('result' in parsed).toBe(scanned.kind === 'result');
        expect('error' in parsed).toBe(scanned.kind === 'error');
      }),
      { numRuns: 3_000 },
    );
  });

  it('tells every usual message without parsing it', () => {
    for (const text of [
      '{"jsonrpc":"2.0","id":1,"result":{"a":[1,{"id":5}]}}',
      '{"jsonrpc":"2.0","result":{"id":5},"id":1}',
      '{"result":{},"id":1,"jsonrpc":"2.0"}',
      '{"id":"a","jsonrpc":"2.0","error":{"code":1,"message":"x"}}',
      '{"jsonrpc":"2.0","method":"ping","id":1}',
      '{"jsonrpc":"2.0","method":"sampling/createMessage","params":{"id":5},"id":1}',
    ]) {
      expect(scan(Buffer.from(text))?.id, text).toBeDefined();
    }
  });
});

describe('idAtEnds', () => {
  const head = (text: string): string => text.slice(0, 60);
  const body = `{"content":[{"type":"text","text":"${'x'.repeat(500)}`;

  it('finds the id that stands before a payload that was not kept', () => {
    expect(idIn(`${head(`{"jsonrpc":"2.0","id":41,"result":${body}`)}xx"}]}}`)).toBe('41');
  });

  it('finds the id that is the last member', () => {
    expect(idIn(`${head(`{"jsonrpc":"2.0","result":${body}`)}xx"}]} , "id" : 41 } `)).toBe('41');
  });

  it('is not taken in by a text that ends like one', () => {
    expect(idIn(`${head(`{"jsonrpc":"2.0","result":${body}`)}\\"id\\":5}"}]}}`)).toBeUndefined();
    expect(idIn(`${head(`{"jsonrpc":"2.0","result":${body}`)},\\"id\\":5}`)).toBeUndefined();
  });

  it('never crashes', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('{', '}', '"', 'id', ':', ',', '1', ' ', '\\') })),
        (text) => {
          idIn(text);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
