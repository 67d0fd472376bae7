import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProxyError } from '../../src/shared/errors.ts';
import { aHearing, credentialOf, textOf } from '../support/stdio/a-stdio-server.ts';
import type { KeyedServerOptions } from '../support/upstreams/keyed-options.ts';
import { UNICODE, UNKNOWN_FIELDS } from '../support/upstreams/keyed-tools.ts';
import { within } from '../support/within.ts';
import { anHttpServer, HttpBench, whileTimePasses } from './http-bench.ts';
import { call } from './http-calls.ts';

let bench: HttpBench;
beforeEach(() => {
  bench = new HttpBench();
});
afterEach(() => bench.close());
const ERAS = ['legacy', 'modern'] as const;

describe.each(ERAS)('a %s server', (era) => {
  const connected = async (options: Partial<KeyedServerOptions> = {}) => {
    const server = await bench.keyed({ era, ...options });
    return { server, connection: await bench.dialed(anHttpServer(server.url)) };
  };

  it('is spoken to in its era, after one handshake', async () => {
    const { server, connection } = await connected();
    expect(connection.era).toBe(era);
    expect(connection.capabilities).toMatchObject({ tools: { listChanged: true } });
    await call(connection, 'echo', { n: 1 });
    const { initializes, discovers, calls } = server.counters;
    expect({ initializes, discovers, calls }).toEqual(
      era === 'legacy' ? { initializes: 1, discovers: 0, calls: 1 } : { initializes: 0, discovers: 1, calls: 1 },
    );
    expect(server.seen.every(({ principal }) => principal === 'anna')).toBe(true);
  });

  it('B116: gives every call its own answer, however they are mixed', async () => {
    const { connection } = await connected();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => call(connection, 'slow', { ms: (40 - n) % 7, n })),
    );
    answers.forEach((reply, n) => expect(textOf(reply)).toContain(`"n":${n}}`));
  });

  it.each(['json', 'sse'] as const)('gives answers byte for byte, as %s', async (reply) => {
    for (const idPosition of ['first', 'last'] as const) {
      const { connection } = await connected({ reply, idPosition });
      expect((await call(connection, 'unknown_fields')).bytes.toString()).toContain(UNKNOWN_FIELDS.slice(1));
      expect(textOf(await call(connection, 'unicode'))).toBe(UNICODE);
    }
  });

  it("passes progress on under the agent's token, and counts each as a sign of life", async () => {
    const { server, connection } = await connected();
    const hearing = aHearing();
    await call(connection, 'progress', { count: 3 }, { hearing, progressToken: '"mine"' });
    const tokens = hearing.messages.map(
      (raw) => (JSON.parse(raw) as { params: { progressToken: unknown } }).params.progressToken,
    );
    expect(tokens).toEqual(['mine', 'mine', 'mine']);
    expect(hearing.counts.progress).toBe(3);
    const sent = server.seen.find(({ method }) => method === 'tools/call')?.body;
    expect(JSON.stringify(sent)).not.toContain('mine');
  });

  it('B024: is asked for progress also for an agent that wants none, who then hears none', async () => {
    const { connection } = await connected();
    const hearing = aHearing();
    await call(connection, 'progress', { count: 2 }, { hearing });
    expect([hearing.messages, hearing.counts.progress]).toEqual([[], 2]);
  });

  it('passes its own errors on as they are', async () => {
    const { connection } = await connected();
    const reply = await call(connection, 'rpc_error');
    expect(reply.isError).toBe(true);
    expect(reply.payload()).toEqual({
      code: -32602,
      message: 'These arguments do not fit',
      data: { field: 'colour', allowed: ['red'] },
    });
  });

  it('is told when a call is cancelled, at once and for that call alone', async () => {
    const { server, connection } = await connected();
    const controller = new AbortController();
    const [cancelled, other] = [
      call(connection, 'never', {}, { signal: controller.signal }),
      call(connection, 'slow', { ms: 50 }),
    ];
    cancelled.catch(() => undefined);
    await server.until(() => server.counters.calls === 2);
    controller.abort(new ProxyError('cancelled', 'The agent left.'));
    await expect(cancelled).rejects.toMatchObject({ code: 'cancelled' });
    await server.until(() => server.counters.aborted === 1);
    // In the legacy revisions closing the socket is no cancellation; in the modern one nothing else is.
    if (era === 'legacy') await server.until(() => server.counters.cancelled === 1);
    expect(server.seen.filter(({ method }) => method === 'notifications/cancelled')).toHaveLength(
      era === 'legacy' ? 1 : 0,
    );
    expect(textOf(await other)).toContain('who=anna');
  });

  it('ends a call that is cancelled before it is sent without sending it', async () => {
    const { server, connection } = await connected();
    await expect(call(connection, 'echo', {}, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow(
      'before',
    );
    expect(server.counters.calls).toBe(0);
  });

  it('B272: leaves no listener on a signal that lives on', async () => {
    const { connection } = await connected();
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
    for (let n = 0; n < 20; n++) await call(connection, n % 2 === 0 ? 'echo' : 'rpc_error', {}, { signal });
    expect(listeners).toBe(0);
  });

  it('B275: is spoken to over few sockets', async () => {
    const { server, connection } = await connected();
    for (let n = 0; n < 50; n++) await call(connection, 'echo');
    expect(server.sockets.accepted).toBeLessThanOrEqual(2);
  });

  it('is heard of list changes while somebody listens', async () => {
    const { server, connection } = await connected();
    const heard: string[] = [];
    const stop = connection.listen((method) => heard.push(method));
    await server.until(() => server.counters.openStreams === 1);
    server.addTool('fresh');
    await within(
      (async () => {
        while (!heard.includes('notifications/tools/list_changed')) await new Promise(setImmediate);
      })(),
      'the notice',
    );
    stop();
    await server.until(() => server.counters.openStreams === 0);
  });

  it('B009: is listened to again with growing pauses when its stream drops', async () => {
    const { server, connection } = await connected();
    const stop = connection.listen(() => undefined);
    await server.until(() => server.counters.openStreams === 1);
    server.endStreams();
    await server.until(() => server.counters.openStreams === 0);
    await whileTimePasses(
      bench.clock,
      server.until(() => server.counters.openStreams === 1),
    );
    stop();
  });

  it('that no longer takes the credential of a stream ends the connection, so that the next one is opened with another', async () => {
    const { server, connection } = await connected();
    connection.listen(() => undefined);
    await server.until(() => server.counters.openStreams === 1);
    server.keys.clear();
    server.endStreams();
    const closed = new Promise<void>((resolve) => connection.onClose(resolve));
    await whileTimePasses(bench.clock, within(closed, 'the connection to close'));
    expect([connection.isClosed, server.counters.unauthorized]).toEqual([true, 1]);
  });

  it('refuses a key that it does not know, and what refused it is kept for discovery', async () => {
    const server = await bench.keyed({ era, challenge: 'Bearer resource_metadata="https://x"' });
    const refused = bench.dialed(anHttpServer(server.url), credentialOf('eve', 'wrong'));
    await expect(refused).rejects.toMatchObject({
      code: 'credential_refused',
      status: 401,
      challenge: 'Bearer resource_metadata="https://x"',
    });
    expect(server.counters.unauthorized).toBe(1);
  });

  it('that refuses a key it took before is believed, call by call', async () => {
    const { server, connection } = await connected();
    server.keys.clear();
    await expect(call(connection, 'echo')).rejects.toMatchObject({ code: 'credential_refused', status: 401 });
    expect(server.executed.size).toBe(0);
  });
});
