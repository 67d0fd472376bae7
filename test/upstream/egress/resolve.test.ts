// Real packets: a name server of our own on loopback, which says what a test wants, or nothing.
import { createSocket, type Socket } from 'node:dgram';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createResolve, type Resolve } from '../../../src/upstream/egress/resolve.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { within } from '../../support/within.ts';

type Records = readonly string[] | 'nxdomain' | 'servfail' | 'silence';
const [A, AAAA] = [1, 28];

let server: Socket;
let clock: FakeClock;
let resolve: Resolve;
let queries: { name: string; type: number }[];
/** Each question of a type in turn; the last for ever. */
let four: Records[];
let six: Records[];
let heard: () => void;

beforeEach(async () => {
  [queries, four, six, heard] = [[], [[]], [[]], () => undefined];
  clock = new FakeClock();
  server = createSocket('udp4');
  server.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query);
    queries.push({ name, type });
    heard();
    const lists = type === A ? four : six;
    const records = (lists.length > 1 ? lists.shift() : lists[0]) ?? [];
    if (records !== 'silence') server.send(writeAnswer(query, end, type, records), from.port, from.address);
  });
  await new Promise<void>((done) => server.bind(0, '127.0.0.1', done));
  resolve = createResolve(clock, [`127.0.0.1:${server.address().port}`]);
});
afterEach(() => new Promise<void>((done) => server.close(() => done())));

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  while (query[at] !== 0) {
    const length = query[at] as number;
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** RFC 1035 §4.1; time to live 0. */
function writeAnswer(query: Buffer, end: number, type: number, records: Exclude<Records, 'silence'>): Buffer {
  const list = typeof records === 'string' ? [] : records;
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(0x8180 | (records === 'nxdomain' ? 3 : records === 'servfail' ? 2 : 0), 2);
  head.writeUInt16BE(list.length, 6);
  head.writeUInt32BE(0, 8);
  const answers = list.map((text) => {
    const data =
      type === A
        ? Buffer.from(text.split('.').map(Number))
        : Buffer.from(
            text.split(':').flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
          );
    const fixed = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]);
    return Buffer.concat([fixed, data]);
  });
  return Buffer.concat([head, ...answers]);
}

const find = (host = 'mcp.example.com'): Promise<readonly string[]> =>
  within(resolve(host, { isNamed: false }), 'the answer of the name server');

describe('a name', () => {
  it('is asked for in both families, and each time anew', async () => {
    four = [['93.184.216.34'], ['127.0.0.1']];
    six = [['2606:4700:4700:0:0:0:0:1111'], []];
    expect(await find()).toEqual(['93.184.216.34', '2606:4700:4700::1111']);
    expect(await find()).toEqual(['127.0.0.1']);
    expect(queries.map(({ type }) => type).sort((a, b) => a - b)).toEqual([A, A, AAAA, AAAA]);
  });

  it('is asked for as it is: no search domain, no hosts file', async () => {
    four = ['nxdomain'];
    six = ['nxdomain'];
    await expect(find('localhost.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(new Set(queries.map(({ name }) => name.toLowerCase()))).toEqual(new Set(['localhost.example.com']));
  });

  it.each<[string, Records, Records]>([
    ['no record of the other family', ['1.1.1.1'], []],
    ['a name server that fails on the other family', ['1.1.1.1'], 'servfail'],
  ])('with %s has the addresses that there are', async (_, a, aaaa) => {
    [four, six] = [[a], [aaaa]];
    expect(await find()).toEqual(['1.1.1.1']);
  });

  it('with nothing at all is an error, not an empty list', async () => {
    await expect(find()).rejects.toMatchObject({ code: 'ENODATA' });
  });

  it('that nobody answers for ends by the clock', async () => {
    [four, six] = [['silence'], ['silence']];
    const asked = new Promise<void>((done) => (heard = () => (queries.length === 2 ? done() : undefined)));
    const asking = find();
    void asking.catch(() => undefined);
    await within(asked, 'both questions');
    clock.advance(4_000);
    await expect(asking).rejects.toMatchObject({ code: 'ECANCELLED' });
    expect(clock.pending).toBe(0);
  });
});

it('a host that the operator named is found as every program here finds it', async () => {
  expect(await resolve('localhost', { isNamed: true })).toContain('127.0.0.1');
  expect(queries).toEqual([]);
});
