// A server of the old transport answers over its stream, so it may leave every POST open: that costs it no more sockets
// than it may have, and none for longer than somebody waits.
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/connection/connection.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { anSseServer, OldSseBench, SOCKETS } from '../support/old-sse-dial.ts';
import type { OldMessage, OldServer } from '../support/old-sse-server.ts';
import { call, never, none, textOf } from '../support/stdio/a-stdio-server.ts';
import { Watched } from '../support/upstreams/watched.ts';
import { within } from '../support/within.ts';

const ANSWERED_MS = 2_000;
const UNAWAITED_MS = 30_000;
const LINGER_MS = 2_000;
const HOUR_MS = 60 * 60_000;

const bench = new OldSseBench();
let clock: FakeClock;
let posts: OpenPosts;
let server: OldServer;
let connection: Connection;
/** What the server leaves open, but for the messages that open the connection. */
let leavesOpen: (message: OldMessage) => boolean;
let answers: boolean;
beforeEach(async () => {
  clock = new FakeClock();
  posts = new OpenPosts();
  leavesOpen = ({ method }) => method === 'tools/call';
  answers = true;
  server = await bench.served({
    onPost(message, res) {
      if (!leavesOpen(message)) return false;
      posts.add(message, res);
      if (answers) server.event(answer(message));
      return true;
    },
  });
  connection = await within(bench.dial(clock)(anSseServer(server.url), none, never()), 'the dial');
  bench.later(() => connection.close());
});
afterEach(() => bench.close());

const answer = ({ id }: OldMessage): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'ok' }] } });

class OpenPosts extends Watched {
  readonly open = new Set<ServerResponse>();
  readonly seen: OldMessage[] = [];

  add(message: OldMessage, res: ServerResponse): void {
    this.seen.push(message);
    this.open.add(res);
    res.once('close', () => {
      this.open.delete(res);
      this.changed();
    });
    this.changed();
  }

  /** Bounded; what the clock has just ended reaches the server a little later. */
  are(count: number): Promise<void> {
    return this.until(() => this.open.size === count, `${count} open POSTs`);
  }
}

describe('a POST that a server leaves open', () => {
  it('is ended a little after its call was answered, and the call has its answer', async () => {
    for (let nth = 0; nth < 3; nth++) expect(textOf(await within(call(connection, 'any'), 'the answer'))).toBe('ok');
    clock.advance(ANSWERED_MS - 1);
    await posts.are(3);
    clock.advance(1);
    await posts.are(0);
    expect(connection.isClosed).toBe(false);
    expect(textOf(await within(call(connection, 'any'), 'the answer'))).toBe('ok');
  });

  it('takes one of the sockets for calls: many of them make later calls wait, and none is lost', async () => {
    const calls = Array.from({ length: 3 * SOCKETS }, () => call(connection, 'any'));
    await Promise.all(calls.slice(0, SOCKETS));
    for (let round = 1; round <= 3; round++) {
      await posts.until(() => posts.seen.length === round * SOCKETS, `round ${round}`);
      expect(posts.open.size).toBeLessThanOrEqual(SOCKETS);
      await within(Promise.all(calls.slice(0, round * SOCKETS)), 'the answers');
      clock.advance(ANSWERED_MS);
    }
    expect((await within(Promise.all(calls), 'all answers')).map(textOf)).toEqual(calls.map(() => 'ok'));
    await posts.are(0);
  });

  it('lives as long as the call that waits, which ends by its own deadline and frees it at once', async () => {
    answers = false;
    const deadline = new AbortController();
    let outcome: unknown;
    const waiting = call(connection, 'any', {}, { signal: deadline.signal }).catch(
      (error: unknown) => (outcome = error),
    );
    await posts.are(1);
    clock.advance(HOUR_MS);
    await new Promise(setImmediate);
    expect([outcome, posts.open.size]).toEqual([undefined, 1]);
    const late = new ProxyError('upstream_timeout', 'too late');
    deadline.abort(late);
    await within(waiting, 'the call');
    expect(outcome).toBe(late);
    await posts.are(0);
  });

  it('is ended at once when the call is cancelled, and the server is told', async () => {
    answers = false;
    const leave = new AbortController();
    const left = call(connection, 'any', {}, { signal: leave.signal });
    await posts.are(1);
    leave.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    await posts.are(0);
    await posts.until(() => {
      setImmediate(() => posts.changed());
      return server.messages.some(({ method }) => method === 'notifications/cancelled');
    }, 'the cancel');
    expect(connection.isClosed).toBe(false);
  });

  it('is ended after half a minute when nobody waits for it', async () => {
    leavesOpen = ({ method }) => method === undefined;
    server.event('{"jsonrpc":"2.0","id":7,"method":"ping"}');
    await posts.are(1);
    expect(posts.seen).toMatchObject([{ id: 7, result: {} }]);
    clock.advance(UNAWAITED_MS - 1);
    await posts.are(1);
    clock.advance(1);
    await posts.are(0);
    expect(connection.isClosed).toBe(false);
  });

  it('is ended with its connection', async () => {
    answers = false;
    const waiting = call(connection, 'any').catch((error: unknown) => error);
    leavesOpen = () => true;
    server.event('{"jsonrpc":"2.0","id":7,"method":"ping"}');
    await posts.are(2);
    await connection.close();
    expect(await within(waiting, 'the call')).toMatchObject({ code: 'upstream_unavailable' });
    await posts.are(0);
  });

  it('behind the head of its answer is ended soon, and its call goes on', async () => {
    let held: OldMessage | undefined;
    answers = false;
    const other = await bench.served({
      onPost(message, res) {
        if (message.method !== 'tools/call') return false;
        posts.add((held = message), res);
        res.writeHead(202).write('Accep');
        return true;
      },
    });
    const talking = await within(bench.dial(clock)(anSseServer(other.url), none, never()), 'the dial');
    bench.later(() => talking.close());
    const waiting = call(talking, 'any');
    await posts.are(1);
    await posts.until(() => {
      // The head is on its way; the wait for the rest begins when it has come.
      clock.advance(LINGER_MS);
      if (posts.open.size > 0) setImmediate(() => posts.changed());
      return posts.open.size === 0;
    }, 'the POST to be ended');
    other.event(answer(held as OldMessage));
    expect(textOf(await within(waiting, 'the answer'))).toBe('ok');
  });
});

describe('a message that waits for a socket', () => {
  it('never goes out when its call has ended meanwhile', async () => {
    answers = false;
    const leave = new AbortController();
    const hanging = Array.from({ length: SOCKETS }, () =>
      call(connection, 'hangs', {}, { signal: leave.signal }).catch(() => undefined),
    );
    await posts.are(SOCKETS);
    const late = new AbortController();
    const left = call(connection, 'late', {}, { signal: late.signal });
    late.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    leave.abort(new Error('left too'));
    await Promise.all(hanging);
    await posts.are(0);
    answers = true;
    expect(textOf(await within(call(connection, 'last'), 'the answer'))).toBe('ok');
    expect(posts.seen.map(({ params }) => params?.name)).toEqual([...hanging.map(() => 'hangs'), 'last']);
  });
});

describe('a question of the server', () => {
  it('before it has said where answers go is left, and one after it is answered', async () => {
    const ping = (id: number): string => `event: message\ndata: {"jsonrpc":"2.0","id":${id},"method":"ping"}\n\n`;
    let stream: ServerResponse | undefined;
    const early = await bench.served({
      onGet(_, res) {
        stream = res;
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let id = 0; id < 20; id++) res.write(ping(id));
        return res.write('event: endpoint\ndata: /message\n\n');
      },
      onPost(message, res) {
        posts.add(message, res.writeHead(202).end());
        const hello = { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'old', version: '1' } };
        if (message.method === 'initialize')
          stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: hello })}\n\n`);
        return true;
      },
    });
    const late = await within(bench.dial(clock)(anSseServer(early.url), none, never()), 'the dial');
    bench.later(() => late.close());
    stream?.write(ping(20));
    await posts.until(() => posts.seen.some(({ result }) => result !== undefined), 'the answer');
    expect(posts.seen.filter(({ result }) => result !== undefined)).toMatchObject([{ id: 20 }]);
  });
});
