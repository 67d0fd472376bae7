import { afterEach, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/connection/connection.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { createStdioDial } from '../../src/upstream/stdio-dial.ts';
import {
  aHearing,
  aLog,
  aServer,
  call,
  client,
  never,
  none,
  stdioTransport,
  textOf,
} from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';

const open: Connection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

async function dialed(script: string, args: string[] = [], log = aLog('silent')): Promise<Connection> {
  const dial = createStdioDial({
    clock: systemClock,
    logger: log.logger,
    client,
    parentEnv: { PATH: process.env['PATH'] },
  });
  const connection = await dial(aServer(stdioTransport(script, args)), none, never());
  open.push(connection);
  return connection;
}

describe('what a command says during a call', () => {
  it('reaches the call by its progress token, in the words of the agent', async () => {
    const connection = await dialed('server.mjs');
    const [mine, other, mute] = [aHearing(), aHearing(), aHearing()];
    await Promise.all([
      call(connection, 'progress', { steps: 3 }, { hearing: mine, progressToken: '"token of the agent"' }),
      call(connection, 'progress', { steps: 1 }, { hearing: other, progressToken: '7' }),
      call(connection, 'progress', { steps: 2 }, { hearing: mute }),
    ]);
    expect(mine.messages.map((raw) => (JSON.parse(raw) as { params: unknown }).params)).toEqual(
      [1, 2, 3].map((progress) => ({ progressToken: 'token of the agent', progress })),
    );
    expect(other.messages).toHaveLength(1);
    expect(other.messages[0]).toContain('"progressToken":7');
    expect(mute.messages).toEqual([]);
    expect([mine, other, mute].map(({ counts }) => counts.progress)).toEqual([3, 1, 2]);
    expect(mine.counts.flush).toBeGreaterThan(0);
  });

  it('is dropped where it is so large that reading it would hold everybody up (T29)', async () => {
    const connection = await dialed('server.mjs');
    const heard: string[] = [];
    connection.listen((method) => void heard.push(method));
    const notice = (bytes: number): string =>
      `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"data":"${'x'.repeat(bytes)}"}}`;
    for (const [bytes, count] of [
      [2 * 1024 * 1024, 0],
      [10, 1],
    ] as const) {
      const line = `${notice(bytes)}\n{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`;
      await call(connection, 'raw', { line });
      expect(heard).toHaveLength(count);
    }
  });

  it('is dropped when its token is made up, late, or of a call that did not ask', async () => {
    const connection = await dialed('server.mjs');
    const hearing = aHearing();
    for (const token of [99_999, 1, 'abc', null, {}])
      await call(connection, 'forge', { token }, { hearing, progressToken: '1' });
    expect(hearing.messages).toEqual([]);
  });

  it('is dropped when two tokens stand in it and the first is not of its call', async () => {
    const connection = await dialed('server.mjs');
    const hearing = aHearing();
    const lines = [
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"_meta":{"progressToken":99},"progressToken":ID}}',
      '{"jsonrpc":"2.0","id":ID,"result":{}}',
    ];
    await call(connection, 'raw', { line: lines.join('\n') }, { hearing, progressToken: '1' });
    expect(hearing.messages).toEqual([]);
  });

  it('reaches the only call there is when it names none, and nobody when there are two', async () => {
    const connection = await dialed('server.mjs');
    const [alone, one, two] = [aHearing(), aHearing(), aHearing()];
    await call(connection, 'log', {}, { hearing: alone });
    expect(alone.messages).toEqual([
      JSON.stringify({
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: 'info', data: 'about one call' },
      }),
    ]);
    const first = call(connection, 'reverse', { value: 'x', count: 2 }, { hearing: one });
    await call(connection, 'log', {}, { hearing: two });
    await call(connection, 'reverse', { value: 'y', count: 2 });
    await first;
    expect([...one.messages, ...two.messages]).toEqual([]);
  });

  it('is not taken for the next call when the one before was cancelled', async () => {
    const connection = await dialed('server.mjs');
    const leave = new AbortController();
    const left = call(connection, 'hang', {}, { signal: leave.signal });
    leave.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    const hearing = aHearing();
    await call(connection, 'log', {}, { hearing });
    expect(hearing.messages).toEqual([]);
  });

  it('B132: is answered at once: ping with an empty result, everything else with method not found', async () => {
    const connection = await dialed('server.mjs');
    expect(JSON.parse(textOf(await call(connection, 'ask', { method: 'ping' })))).toMatchObject({ result: {} });
    for (let i = 0; i < 40; i++) await within(call(connection, 'ask', { method: 'ping' }), `ping ${i}`);
    for (const method of ['roots/list', 'sampling/createMessage', 'elicitation/create', 'made/up']) {
      expect(JSON.parse(textOf(await within(call(connection, 'ask', { method }), method)))).toMatchObject({
        error: { code: -32601 },
      });
    }
  });

  it('B130: is shown to nobody when it is a question', async () => {
    const connection = await dialed('server.mjs');
    const hearing = aHearing();
    await call(connection, 'ask', { method: 'elicitation/create' }, { hearing });
    expect(hearing.messages).toEqual([]);
  });

  it('B032: does not touch our call when its own question has the same number', async () => {
    const connection = await dialed('server.mjs');
    const waiting = call(connection, 'reverse', { value: 'mine', count: 2 });
    for (let askId = 1; askId < 6; askId++)
      expect(textOf(await call(connection, 'askAndCancel', { askId }))).toBe('done');
    await call(connection, 'reverse', { value: 'last', count: 2 });
    expect(textOf(await waiting)).toBe('mine');
  });

  it('tells listeners of list changes until they stop', async () => {
    const connection = await dialed('server.mjs');
    const heard: string[] = [];
    const stop = connection.listen((method) => void heard.push(method));
    await call(connection, 'changed');
    stop();
    await call(connection, 'changed');
    expect(heard).toEqual(['notifications/tools/list_changed']);
  });
});

describe('cancelling', () => {
  it('B030: reaches the command at once with our id, and a late answer is dropped', async () => {
    const connection = await dialed('server.mjs');
    const leave = new AbortController();
    const left = call(connection, 'reverse', { value: 'late', count: 2 }, { signal: leave.signal });
    const stays = call(connection, 'echo', { value: 'stays' });
    leave.abort(new Error('the agent left'));
    await expect(left).rejects.toThrow('the agent left');
    expect(textOf(await stays)).toBe('stays');
    const seen = JSON.parse(textOf(await call(connection, 'cancelled'))) as { requestId: number; reason: string }[];
    expect(seen).toEqual([{ requestId: 2, reason: 'cancelled' }]);
    expect(textOf(await call(connection, 'reverse', { value: 'in time', count: 2 }))).toBe('in time');
  });

  it('before sending sends nothing', async () => {
    const connection = await dialed('server.mjs');
    await expect(
      call(connection, 'echo', { value: 'x' }, { signal: AbortSignal.abort(new Error('too late')) }),
    ).rejects.toThrow('too late');
    expect(textOf(await call(connection, 'cancelled'))).toBe('[]');
  });
});
