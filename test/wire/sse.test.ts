import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventOf, type SseEvent, SseReader } from '../../src/wire/sse.ts';

interface Read {
  readonly events: readonly SseEvent[];
  readonly retryMs: number | undefined;
  readonly lastEventId: string | undefined;
}

function readChunks(chunks: readonly Uint8Array[], maxEventBytes = 100_000): Read {
  const events: SseEvent[] = [];
  const reader = new SseReader(maxEventBytes, (event) => events.push(event));
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  return { events, retryMs: reader.retryMs, lastEventId: reader.lastEventId };
}

const readText = (text: string): Read => readChunks([Buffer.from(text)]);
const dataOf = ({ events }: Read): readonly string[] =>
  events.map(({ data }) => Buffer.from(data, 'latin1').toString());

/** The rules of the standard, line by line, as slowly as it likes (WHATWG HTML, interpreting an event stream). */
function byTheBook(text: string): { data: string[]; retryMs: number | undefined; lastEventId: string | undefined } {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  // What stands behind the last line end is no line yet.
  lines.pop();
  const all: string[] = [];
  let data = '';
  let retryMs: number | undefined;
  let lastEventId: string | undefined;
  let id: string | undefined;
  let retry: number | undefined;
  for (const line of lines) {
    if (line === '') {
      if (id !== undefined) lastEventId = id;
      // The one liberty: a retry counts when its event has ended, as an id does.
      retryMs = retry ?? retryMs;
      if (data !== '' && data !== '\n') all.push(data.slice(0, -1));
      [data, id] = ['', undefined];
      continue;
    }
    const [, field = line, value = ''] = /^([^:]*): ?(.*)$/su.exec(line) ?? [];
    if (field === 'data') data += `${value}\n`;
    else if (field === 'id' && !value.includes('\0')) id = value;
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) retry = Number(value);
  }
  return { data: all, retryMs, lastEventId };
}

const ends = fc.constantFrom('\n', '\r', '\r\n');
const values = fc.oneof(
  fc.constantFrom('{"a":1}', ' two blanks', '', ':', 'é漢😀', 'x\u0000'),
  fc.string({ unit: fc.constantFrom('a', ' ', ':', 'ü', '\u2028'), maxLength: 8 }),
);
const lines = fc.oneof(
  { weight: 6, arbitrary: values.map((value) => `data: ${value}`) },
  { weight: 2, arbitrary: values.map((value) => `data:${value}`) },
  fc.constantFrom(
    'data',
    'id',
    'event',
    ': comment',
    ':',
    'event: message',
    'event: ping',
    'id: 7',
    'retry: 1500',
    'retry: soon',
    'x-field: 1',
  ),
  { weight: 4, arbitrary: fc.constant('') },
);

const streams = fc
  .tuple(
    fc.constantFrom('', '\ufeff'),
    fc.array(fc.tuple(lines, ends), { maxLength: 12 }),
    fc.oneof(ends, fc.constant('mixed')),
    fc.constantFrom('', 'data: never ended', '\r'),
  )
  .map(
    ([mark, all, end, tail]) => mark + all.map(([line, own]) => line + (end === 'mixed' ? own : end)).join('') + tail,
  );

/** The same bytes in pieces; some of them empty. */
function cut(text: string, places: readonly number[]): readonly Uint8Array[] {
  const bytes = Buffer.from(text);
  const borders = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return borders.slice(1).map((border, at) => bytes.subarray(borders[at], border));
}

describe('SseReader', () => {
  it('B020, B022: reads what the standard says, for every kind of line end and every chunking', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 8 }), (text, places) => {
        const read = readChunks(cut(text, places));
        const expected = byTheBook(text);
        expect(dataOf(read)).toEqual(expected.data);
        expect(read.retryMs).toBe(expected.retryMs);
        expect(read.lastEventId === undefined ? undefined : Buffer.from(read.lastEventId, 'latin1').toString()).toBe(
          expected.lastEventId,
        );
      }),
      { numRuns: 3_000 },
    );
  });

  it('reads the same byte by byte', () => {
    fc.assert(
      fc.property(streams, (text) => {
        const bytes = Buffer.from(text);
        const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
        expect(readChunks(single)).toEqual(readChunks([bytes]));
      }),
      { numRuns: 1_000 },
    );
  });

  it('joins data lines by a line feed, and drops one blank behind the colon only', () => {
    expect(dataOf(readText('data:  {\ndata:"a":1}\n\n'))).toEqual([' {\n"a":1}']);
  });

  it('B019: takes an event without data for no message, but remembers its id and retry', () => {
    expect(readText('id: 1\nretry: 1500\ndata:\n\n')).toEqual({ events: [], retryMs: 1500, lastEventId: '1' });
  });

  it('gives the type and the id of an event', () => {
    expect(readText('event: ping\nid: 3\ndata: x\n\n').events).toEqual([{ data: 'x', type: 'ping', id: '3' }]);
  });

  it('B022: drops an event that has not ended', () => {
    expect(readText('data: a\n\ndata: b\n').events).toHaveLength(1);
    expect(readText('data: a').events).toHaveLength(0);
  });

  it('ignores an id with a NUL and a retry that is no number', () => {
    expect(readText('id: a\u0000b\nretry: 1e3\ndata: x\n\n')).toMatchObject({
      retryMs: undefined,
      lastEventId: undefined,
    });
  });

  it.each([
    ['in one chunk', [`data: ${'x'.repeat(2_000)}\n\n`]],
    ['in many', Array.from({ length: 400 }, () => 'data: xxxxx\n')],
    ['in one line that never ends', Array.from({ length: 400 }, () => 'xxxxxxxx')],
    ['behind a good one', ['data: ok\n\n', `data: ${'x'.repeat(2_000)}`]],
  ])('B128: refuses an event over its limit that comes %s', (_, chunks) => {
    const push = (): Read =>
      readChunks(
        chunks.map((chunk) => Buffer.from(chunk)),
        1_000,
      );
    expect(push).toThrow(expect.objectContaining({ code: 'upstream_protocol' }));
  });

  it('has a limit for each event, not for all of them together', () => {
    expect(
      readChunks(
        Array.from({ length: 500 }, () => Buffer.from(`data: ${'x'.repeat(900)}\n\n`)),
        1_000,
      ).events,
    ).toHaveLength(500);
  });

  it('keeps bytes unharmed: a character split between chunks comes out whole', () => {
    const bytes = Buffer.from('data: 漢😀\n\n');
    for (let at = 0; at <= bytes.length; at++) {
      expect(dataOf(readChunks([bytes.subarray(0, at), bytes.subarray(at)]))).toEqual(['漢😀']);
    }
  });
});

describe('eventOf', () => {
  it('writes one event that reads back as the message', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(dataOf(readText(eventOf(JSON.stringify(value))))).toEqual([JSON.stringify(value)]);
      }),
    );
  });
});
