import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import {
  aLog,
  aServer,
  aStdioDial,
  call,
  credentialOf,
  never,
  none,
  noneLeft,
  processesWith,
  secretSpec,
  stdioTransport,
  textOf,
  until,
} from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';

const marker = (): string => `marker-${randomUUID()}`;

describe('the processes of a command', () => {
  it('B040: are all gone after close, also a grandchild that ignores every polite signal', async () => {
    const dial = aStdioDial();
    const mark = marker();
    const connections = await Promise.all(
      [1, 2, 3].map(() => dial(aServer(stdioTransport('launcher.mjs', [mark])), none, never())),
    );
    expect(processesWith(mark).length).toBeGreaterThanOrEqual(6);
    const start = systemClock.now();
    await Promise.all(connections.map((connection) => connection.close()));
    expect(systemClock.now() - start).toBeLessThan(2_800);
    await noneLeft(() => processesWith(mark), 500);
  });

  it('B040: are all gone when the command itself died and left a grandchild', async () => {
    const mark = marker();
    const connection = await aStdioDial()(aServer(stdioTransport('launcher.mjs', [mark])), none, never());
    await expect(call(connection, 'die')).rejects.toMatchObject({ code: 'upstream_unavailable' });
    await noneLeft(() => processesWith(mark), 3_000);
  });

  it('are all gone when the dial is given up', async () => {
    const mark = marker();
    const log = aLog();
    const stop = new AbortController();
    const dialing = aStdioDial(log)(aServer(stdioTransport('launcher.mjs', [mark, 'silent'])), none, stop.signal);
    await within(
      until(() => log.text().includes('ready')),
      'the command to start',
    );
    expect(processesWith(mark).length).toBeGreaterThanOrEqual(2);
    stop.abort(new Error('took too long'));
    await expect(within(dialing, 'the dial to end', 1_000)).rejects.toThrow('took too long');
    await noneLeft(() => processesWith(mark), 500);
  });

  it('are all gone when the command closed its output and lives on', async () => {
    const mark = marker();
    const connection = await aStdioDial()(aServer(stdioTransport('server.mjs', [mark])), none, never());
    const unanswered = call(connection, 'closeOutput');
    await expect(within(unanswered, 'the call to fail')).rejects.toMatchObject({ code: 'upstream_unavailable' });
    expect(connection.isClosed).toBe(true);
    await noneLeft(() => processesWith(mark));
  });

  it('are never started when the dial was given up before', async () => {
    const mark = marker();
    await expect(
      aStdioDial()(aServer(stdioTransport('server.mjs', [mark])), none, AbortSignal.abort(new Error('no more'))),
    ).rejects.toThrow('no more');
    expect(processesWith(mark)).toEqual([]);
  });

  it('end by the end of their input when they are polite', async () => {
    const connection = await aStdioDial()(aServer(stdioTransport('server.mjs')), none, never());
    const start = systemClock.now();
    await Promise.all([connection.close(), connection.close()]);
    expect(systemClock.now() - start).toBeLessThan(900);
  });
});

describe('a command that cannot be started', () => {
  it('is told apart: not found, no program, ended before it answered', async () => {
    const transport = stdioTransport('server.mjs');
    const refusals = [
      [{ ...transport, command: '/no/such/command' }, 'command not found'],
      [{ ...transport, cwd: '/no/such/folder' }, 'working directory'],
      [{ ...transport, command: '/dev/null' }, 'no permission'],
      [
        { ...transport, args: ['--eval', 'console.error("no API key given"); process.exit(7)'] },
        'ended with exit code 7 before',
      ],
      [{ ...transport, args: ['x'.repeat(3_000_000)] }, 'too large'],
      [{ ...transport, args: ['a\u0000b'] }, 'NUL'],
    ] as const;
    for (const [broken, words] of refusals) {
      await expect(aStdioDial()(aServer(broken), none, never())).rejects.toMatchObject({
        name: 'NotRunError',
        message: expect.stringContaining(words) as string,
      });
    }
  });

  it('gives its last words to the log only', async () => {
    const transport = {
      ...stdioTransport('server.mjs'),
      args: ['--eval', 'console.error("no license"); process.exit(7)'],
    };
    const error = await aStdioDial()(aServer(transport), none, never()).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({
      message: expect.not.stringContaining('license') as string,
      cause: { message: 'no license' },
    });
  });

  it('never repeats a value that cannot be passed', async () => {
    const server = aServer(stdioTransport('server.mjs'), secretSpec());
    const error = await aStdioDial()(server, credentialOf('ann', 'canary\u0000key'), never()).catch(
      (thrown: unknown) => thrown as Error,
    );
    expect(error).toMatchObject({ name: 'NotRunError', message: expect.stringContaining('API_KEY') as string });
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String((error as Error).stack)).not.toContain(
      'canary',
    );
  });
});

describe('the stderr of a command', () => {
  it('B049: is logged with its name, cut, masked, escaped and limited in rate', async () => {
    const log = aLog();
    const server = aServer(stdioTransport('server.mjs', [], { OTHER: 'value-of-other' }), secretSpec());
    const connection = await aStdioDial(log)(server, credentialOf('ann', 'canary-token'), never());
    const lines = [
      'has canary-token and value-of-other',
      'fake\r{"level":60}',
      '\u001b[31mred',
      'long '.repeat(2_000),
      ...Array.from({ length: 10_000 }, (_, i) => `line ${i}`),
    ];
    expect(textOf(await call(connection, 'complain', { lines }))).toBe('done');
    await connection.close();
    const said = log.lines.filter((line) => line['stream'] === 'stderr');
    expect(said[0]).toMatchObject({ level: 20, tenantId: 'acme', server: 'files', line: 'has [secret] and [secret]' });
    expect(said[1]).toMatchObject({ line: 'fake\\u000d{"level":60}' });
    expect(said[2]).toMatchObject({ line: '\\u001b[31mred' });
    expect(String(said[3]?.['line']).length).toBeLessThanOrEqual(1_000);
    expect(said.length).toBeLessThan(300);
    expect(log.text()).not.toContain('canary');
  });
});
