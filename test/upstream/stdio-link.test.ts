import { afterEach, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/connection/connection.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { createStdioDial } from '../../src/upstream/stdio-dial.ts';
import {
  aLog,
  aServer,
  call,
  client,
  credentialOf,
  never,
  none,
  secretSpec,
  stdioTransport,
  textOf,
  until,
} from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';

const open: Connection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

const parentEnv = {
  PATH: process.env['PATH'],
  HOME: '/home/somebody',
  DATABASE_URL: 'postgres://secret',
  KEYBEARER_KEYS: 'k1:canary',
  AWS_SECRET_ACCESS_KEY: 'canary',
};

async function dialed(script: string, args: string[] = [], log = aLog('silent')): Promise<Connection> {
  const dial = createStdioDial({ clock: systemClock, logger: log.logger, client, parentEnv });
  const connection = await dial(aServer(stdioTransport(script, args)), none, never());
  open.push(connection);
  return connection;
}

describe('the environment of a command', () => {
  it('B044: holds nine harmless names, what the server sets, the credential, a mark of ours, and nothing else', async () => {
    const dial = createStdioDial({ clock: systemClock, logger: aLog().logger, client, parentEnv });
    const server = aServer(stdioTransport('server.mjs', [], { TZ: 'UTC' }), secretSpec());
    const connection = await dial(server, credentialOf('ann', 'key-of-ann'), never());
    open.push(connection);
    const seen = JSON.parse(textOf(await call(connection, 'env'))) as Record<string, string>;
    // The credential is there, and on its way back it is masked.
    expect(seen).toEqual({
      PATH: process.env['PATH'],
      HOME: '/home/somebody',
      TZ: 'UTC',
      API_KEY: '[secret]',
      CHILD_OF_KEYBEARER: expect.stringMatching(/^[\w-]{16}\.1$/) as string,
    });
    expect(textOf(await call(connection, 'sdrawkcab', { name: 'API_KEY' }))).toBe('nna-fo-yek');
  });

  it('B046: never mixes the keys of people whose commands start and end at the same time', async () => {
    const dial = createStdioDial({ clock: systemClock, logger: aLog().logger, client, parentEnv });
    const server = aServer(stdioTransport('server.mjs'), secretSpec());
    const ask = async (person: string): Promise<string> => {
      const connection = await dial(server, credentialOf(person, `key-of-${person}`), never());
      try {
        return textOf(await call(connection, 'sdrawkcab', { name: 'API_KEY' }));
      } finally {
        await connection.close();
      }
    };
    const people = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? 'ann' : 'bob'));
    expect(await Promise.all(people.map(ask))).toEqual(
      people.map((person) => `${person === 'ann' ? 'nna' : 'bob'}-fo-yek`),
    );
    expect(process.env['API_KEY']).toBeUndefined();
  });
});

describe('answers of a command', () => {
  it('lists tools and says what the server offers', async () => {
    const connection = await dialed('server.mjs');
    expect(connection.era).toBe('legacy');
    expect(connection.capabilities).toEqual({ tools: {} });
    const reply = await connection.request({ method: 'tools/list', params: undefined, signal: never() });
    expect(reply.bytes.toString()).toContain('"name":"echo"');
  });

  it('B116: never cross, also when they come in reverse order', async () => {
    const connection = await dialed('server.mjs');
    const values = ['a', 'b', 'c', 'd', 'e'];
    const replies = await Promise.all(values.map((value) => call(connection, 'reverse', { value, count: 5 })));
    expect(replies.map(textOf)).toEqual(values);
  });

  it('B047: come although a megabyte of stderr stands before them', async () => {
    const connection = await dialed('server.mjs');
    expect(textOf(await within(call(connection, 'noisy', { bytes: 1_000_000 }), 'the answer'))).toBe('done');
  });

  it('B050: come although banners and log lines stand between them', async () => {
    const log = aLog();
    const connection = await dialed('banner.mjs', ['7'], log);
    expect(textOf(await call(connection, 'stray', { line: 'Warning: [not json' }))).toBe('done');
    expect(textOf(await call(connection, 'stray', { line: '["an array"]' }))).toBe('done');
    expect(log.lines.filter((line) => line['stream'] === 'stdout').map((line) => line['line'])).toContain(
      'Welcome to my server!',
    );
  });

  it('B050: are given up with advice when a thousand lines before the first are none', async () => {
    await expect(dialed('banner.mjs', ['1000'])).rejects.toMatchObject({
      code: 'upstream_protocol',
      message: expect.stringContaining('standard error') as string,
    });
  });

  it('B052: keep characters that were split between writes, in three commands at once', async () => {
    const connections = await Promise.all([dialed('server.mjs'), dialed('server.mjs'), dialed('server.mjs')]);
    const replies = await Promise.all(
      connections.map((connection, i) => call(connection, 'split', { value: `<${i} 🦊🐻>` })),
    );
    expect(replies.map(textOf)).toEqual(['<0 🦊🐻>', '<1 🦊🐻>', '<2 🦊🐻>']);
  });

  it('B054: with invalid UTF-8 are delivered with a replacement, and the next call works', async () => {
    const connection = await dialed('server.mjs');
    expect(textOf(await within(call(connection, 'broken'), 'the broken answer'))).toBe('a\ufffdb');
    expect(textOf(await call(connection, 'echo', { value: 'next' }))).toBe('next');
  });

  it('B122: keep every digit', async () => {
    const connection = await dialed('server.mjs');
    const reply = await call(connection, 'raw', {
      line: '{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":{"n":9007199254740993,"e":1e400,"z":-0}}}',
    });
    expect(reply.bytes.toString()).toContain('{"n":9007199254740993,"e":1e400,"z":-0}');
  });

  it('B128: over the limit fail that call at once and leave the others alone', async () => {
    const connection = await dialed('server.mjs');
    const slow = call(connection, 'reverse', { value: 'kept', count: 2 });
    const huge = call(connection, 'huge', { bytes: 5 * 1024 * 1024 });
    await expect(within(huge, 'the refusal', 15_000)).rejects.toMatchObject({
      code: 'upstream_protocol',
      message: expect.stringContaining('larger than') as string,
    });
    await call(connection, 'reverse', { value: 'other', count: 2 });
    expect(textOf(await slow)).toBe('kept');
  });

  it('of as many bytes as the server is registered for come through whole', async () => {
    const bytes = 16 * 1024 * 1024;
    const dial = createStdioDial({ clock: systemClock, logger: aLog('silent').logger, client, parentEnv });
    const connection = await dial({ ...aServer(stdioTransport('server.mjs')), maxResultBytes: bytes }, none, never());
    open.push(connection);
    const answer = await within(call(connection, 'huge', { bytes: bytes - 1_000 }), 'the answer', 15_000);
    expect(answer.bytes.length).toBeGreaterThan(bytes - 1_000);
    expect(answer.isError).toBe(false);
  });

  it('B121: with null or unknown ids are skipped, and the real one still counts', async () => {
    const connection = await dialed('server.mjs');
    const lines = [
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}',
      '{"jsonrpc":"2.0","id":777,"result":{}}',
      '{"jsonrpc":"2.0","id":"ID","result":{"content":[{"type":"text","text":"mine"}]}}',
    ];
    expect(textOf(await within(call(connection, 'raw', { line: lines.join('\n') }), 'the answer'))).toBe('mine');
  });
});

describe('a command that ends', () => {
  it('fails the calls that wait at once, and tells that they may have run', async () => {
    const connection = await dialed('server.mjs');
    let closed = 0;
    connection.onClose(() => (closed += 1));
    const outcomes = await within(
      Promise.allSettled([call(connection, 'hang'), call(connection, 'die')]),
      'both to fail',
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: {
          name: 'ProxyError',
          code: 'upstream_unavailable',
          message: expect.stringContaining('may have run') as string,
        },
      });
    expect(connection.isClosed).toBe(true);
    expect(closed).toBe(1);
    await expect(call(connection, 'echo', { value: 'x' })).rejects.toMatchObject({ name: 'NotRunError' });
    await connection.close();
    expect(closed).toBe(1);
  });

  it('by a signal from outside is noticed without a call', async () => {
    const connection = await dialed('server.mjs');
    const pid = Number(textOf(await call(connection, 'pid')));
    const gone = new Promise<void>((resolve) => connection.onClose(resolve));
    process.kill(pid, 'SIGKILL');
    await within(gone, 'the connection to notice');
    expect(connection.isClosed).toBe(true);
  });

  it('B055: while two calls are written to it fails both and nothing else', async () => {
    const other = await dialed('server.mjs');
    const connection = await dialed('server.mjs');
    await call(connection, 'closeInputAndExit');
    const outcomes = await within(
      Promise.allSettled([
        call(connection, 'echo', { value: 'x'.repeat(300_000) }),
        call(connection, 'echo', { value: 'y' }),
      ]),
      'both to fail',
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'upstream_unavailable' } });
    expect(textOf(await call(other, 'echo', { value: 'alive' }))).toBe('alive');
  });

  it('leaves no listener on the signal of a call', async () => {
    const connection = await dialed('server.mjs');
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
    for (let i = 0; i < 20; i++) await call(connection, 'echo', { value: String(i) }, { signal });
    expect(listeners).toBe(0);
  });
});

describe('a command of the modern era', () => {
  it('is asked again on the same child after it refused to initialize, and heard', async () => {
    const connection = await dialed('modern.mjs');
    expect(connection.era).toBe('modern');
    expect(connection.capabilities).toHaveProperty('tools');
    const heard: string[] = [];
    const stop = connection.listen((method) => void heard.push(method));
    expect(textOf(await call(connection, 'hello'))).toBe('hello');
    await within(
      until(() => heard.length > 0),
      'the list change',
    );
    expect(heard[0]).toBe('notifications/tools/list_changed');
    stop();
    expect(textOf(await call(connection, 'hello'))).toBe('hello');
  });
});
