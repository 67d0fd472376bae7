import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEraMemory } from '../../src/upstream/era-probe.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { call, none, textOf } from '../support/stdio/a-stdio-server.ts';
import { PROBE_FAULTS } from '../support/upstreams/bad-server.ts';
import { anHttpServer, anna, HttpBench, whileTimePasses } from './http-bench.ts';

const DAY = 86_400_000;

let bench: HttpBench;
beforeEach(() => {
  bench = new HttpBench();
});
afterEach(() => bench.close());

const asksModern = (seen: readonly { readonly method?: string | undefined }[]): number =>
  seen.filter(({ method }) => method === 'server/discover').length;

describe('finding out which era a server speaks', () => {
  it.each(PROBE_FAULTS)('B135: takes an old server for what it is, however it says no: %s', async (mode) => {
    const server = await bench.bad(mode, { on: 'server/discover' });
    const connection = await whileTimePasses(
      bench.clock,
      bench.dial(anHttpServer(server.url), none, new AbortController().signal),
    );
    expect(connection.era).toBe('legacy');
    server.mode = 'healthy';
    expect(textOf(await call(connection, 'echo', { a: 1 }))).toBe('{"a":1}');
    await connection.close();
  });

  it.each(PROBE_FAULTS)('B135: remembers that unless it says nothing about the era: %s', async (mode) => {
    const server = await bench.bad(mode, { on: 'server/discover' });
    for (let n = 0; n < 2; n++) {
      const connection = await whileTimePasses(
        bench.clock,
        bench.dial(anHttpServer(server.url), none, new AbortController().signal),
      );
      await connection.close();
    }
    // A server error and silence may pass; everything else is how old servers are.
    expect(asksModern(server.seen)).toBe(mode === 'http-500' || mode === 'hang' ? 2 : 1);
  });

  it('B135: waits for a probe that hangs no longer than five seconds, and half of the connect time', async () => {
    for (const [connectTimeoutMs, probeMs] of [
      [60_000, 5_000],
      [4_000, 2_000],
    ] as const) {
      const server = await bench.bad('hang', { on: 'server/discover' });
      const dialling = bench.dial(
        anHttpServer(server.url, {}, { connectTimeoutMs }),
        none,
        new AbortController().signal,
      );
      await server.until(() => server.strikes === 1);
      bench.clock.advance(probeMs - 1);
      for (let n = 0; n < 20; n++) await new Promise(setImmediate);
      expect(server.openResponses).toBe(1);
      bench.clock.advance(1);
      const connection = await dialling;
      expect(connection.era).toBe('legacy');
      await server.until(() => server.openResponses === 0);
      await connection.close();
    }
  });

  it('finds a modern server, and remembers what it offers', async () => {
    const server = await bench.keyed({ era: 'both' });
    for (let n = 0; n < 2; n++) {
      const connection = await bench.dialed(anHttpServer(server.url));
      expect([connection.era, connection.capabilities]).toEqual(['modern', { tools: { listChanged: true } }]);
    }
    const { discovers, initializes } = server.counters;
    expect({ discovers, initializes }).toEqual({ discovers: 1, initializes: 0 });
  });

  it('decides nothing by a refused key, and tells of it', async () => {
    const server = await bench.bad('unauthorized', { on: 'server/discover' });
    await expect(bench.dial(anHttpServer(server.url), anna, new AbortController().signal)).rejects.toMatchObject({
      code: 'credential_refused',
    });
    server.mode = 'healthy';
    const connection = await bench.dialed(anHttpServer(server.url));
    expect([connection.era, asksModern(server.seen)]).toEqual(['legacy', 2]);
  });

  it('does not ask in another era a server that is not there', async () => {
    const server = await bench.bad('healthy');
    await server.close();
    await expect(bench.dial(anHttpServer(server.url), none, new AbortController().signal)).rejects.toMatchObject({
      name: 'NotRunError',
    });
  });

  it('ends with the dial, and leaves nothing open', async () => {
    const server = await bench.bad('hang', { on: 'server/discover' });
    const leaver = new AbortController();
    const dialling = bench.dial(anHttpServer(server.url), none, leaver.signal);
    dialling.catch(() => undefined);
    await server.until(() => server.strikes === 1);
    leaver.abort(new Error('left'));
    await expect(dialling).rejects.toThrow('left');
    await server.until(() => server.openResponses === 0);
    expect(bench.clock.pending).toBe(0);
  });
});

describe('what was found out', () => {
  it('holds for a day', async () => {
    const server = await bench.keyed({ era: 'legacy' });
    const dial = async (): Promise<void> => (await bench.dialed(anHttpServer(server.url))).close();
    await dial();
    bench.clock.advance(DAY - 1);
    await dial();
    expect(asksModern(server.seen)).toBe(1);
    bench.clock.advance(1);
    await dial();
    expect(asksModern(server.seen)).toBe(2);
  });

  it('is forgotten when it does not work any more: something else may stand there now', async () => {
    const server = await bench.keyed({ era: 'legacy' });
    await (await bench.dialed(anHttpServer(server.url))).close();
    // The registration stays; what answers at its address takes no initialize.
    const successor = await bench.bad('http-500', { on: 'initialize' });
    for (const asked of [0, 1]) {
      await expect(bench.dial(anHttpServer(successor.url), none, new AbortController().signal)).rejects.toMatchObject({
        code: 'upstream_unavailable',
      });
      expect(asksModern(successor.seen)).toBe(asked);
    }
  });

  it.each(['rpc-32000', 'rpc-32600', 'http-400-text', 'http-404', 'http-405'] as const)(
    'is doubted when a modern server answers as an old one would: %s',
    async (mode) => {
      const server = await bench.bad('healthy', { era: 'modern', on: 'tools/call' });
      const connection = await bench.dialed(anHttpServer(server.url));
      expect(connection.era).toBe('modern');
      server.mode = mode;
      await call(connection, 'echo').catch(() => undefined);
      // Its session-less connection is of no use any more, and the next one asks which era it is.
      expect(connection.isClosed).toBe(true);
      await (await bench.dialed(anHttpServer(server.url))).close();
      expect(asksModern(server.seen)).toBe(2);
    },
  );

  it('is not doubted for an error of the tool itself, or a server that is down', async () => {
    for (const mode of ['rpc-32602', 'http-503', 'unauthorized', 'reset'] as const) {
      const server = await bench.bad('healthy', { era: 'modern', on: 'tools/call' });
      const connection = await bench.dialed(anHttpServer(server.url, {}, { id: mode as never }));
      server.mode = mode;
      await call(connection, 'echo').catch(() => undefined);
      expect(connection.isClosed, mode).toBe(false);
    }
  });

  it('is about one registration: an edited server is asked anew', async () => {
    const server = await bench.keyed({ era: 'legacy' });
    await (await bench.dialed(anHttpServer(server.url))).close();
    await (await bench.dialed(anHttpServer(server.url, {}, { revision: '2' }))).close();
    await (await bench.dialed(anHttpServer(server.url, {}, { tenantId: 'umbrella' as never }))).close();
    expect(asksModern(server.seen)).toBe(3);
  });

  it('is kept by key, with its age', () => {
    const clock = new FakeClock();
    const eras = createEraMemory(clock);
    const modern = { era: 'modern', discovered: {} } as const;
    eras.remember('a', { era: 'legacy' });
    eras.remember('b', modern);
    expect([eras.find('a'), eras.find('b'), eras.find('c')]).toEqual([{ era: 'legacy' }, modern, undefined]);
    eras.forget('b');
    clock.advance(DAY);
    expect([eras.find('a'), eras.find('b')]).toEqual([undefined, undefined]);
  });
});

describe('a server that is busy at the start', () => {
  it.each(['server/discover', 'initialize'] as const)(
    'B038: is waited for as it asked, and then connected to: %s',
    async (on) => {
      const server = await bench.bad('http-429-once', { on });
      const connection = await whileTimePasses(
        bench.clock,
        bench.dial(anHttpServer(server.url), none, new AbortController().signal),
      );
      expect(textOf(await call(connection, 'echo', { a: 1 }))).toBe('{"a":1}');
      await connection.close();
    },
  );

  it('is not waited for by one who has left', async () => {
    const server = await bench.bad('http-429-once', { on: 'initialize' });
    const leaver = new AbortController();
    const dialling = bench.dial(anHttpServer(server.url), none, leaver.signal);
    dialling.catch(() => undefined);
    await server.until(() => server.strikes === 1);
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    leaver.abort(new Error('left'));
    await expect(dialling).rejects.toThrow('left');
    expect(bench.clock.pending).toBe(0);
  });
});
