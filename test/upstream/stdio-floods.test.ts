// A command that writes without end, or does not read, costs nobody else their answers, and us no memory.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/connection/connection.ts';
import { systemClock } from '../../src/shared/clock.ts';
import type { TenantId } from '../../src/shared/id.ts';
import { Secret } from '../../src/shared/secret.ts';
import { StderrLog } from '../../src/upstream/stderr-log.ts';
import { createStdioDial } from '../../src/upstream/stdio-dial.ts';
import { aLog, aServer, call, client, never, none, stdioTransport, textOf } from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';

const MIB = 1024 * 1024;
const open: Connection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

function aDial(log = aLog('silent')) {
  const dial = createStdioDial({
    clock: systemClock,
    logger: log.logger,
    client,
    parentEnv: { PATH: process.env['PATH'] },
  });
  return async (script: string, args: string[] = [], tenant = 'acme'): Promise<Connection> => {
    const server = { ...aServer(stdioTransport(script, args)), tenantId: tenant as TenantId };
    const connection = await dial(server, none, never());
    open.push(connection);
    return connection;
  };
}

/**
 * What a call may not notice. Alone on its machine the worst delay stays below half of it; where others take
 * the processor away, that is a delay too, so one in ten may be longer.
 */
const MAX_LAG_MS = 100;

describe('a flood on the output of commands of one tenant', () => {
  it.each(['unended', 'empty', 'strays', 'notices', 'large', 'answers', 'garbage', 'stderr'])(
    'leaves the event loop free and another tenant its answers: %s (T29)',
    async (kind) => {
      const dialed = aDial();
      const calm = await dialed('server.mjs', [], 'umbrella');
      const flooding = await Promise.all([1, 2].map(() => dialed('floods.mjs', [kind])));
      for (const connection of flooding) expect(textOf(await call(connection, 'echo', { value: 'go' }))).toBe('go');
      await new Promise((resolve) => setTimeout(resolve, 100));
      const delay = monitorEventLoopDelay({ resolution: 5 });
      delay.enable();
      const start = systemClock.now();
      let answers = 0;
      while (systemClock.now() - start < 800) {
        expect(textOf(await within(call(calm, 'echo', { value: String(answers) }), 'an answer', 2_000))).toBe(
          String(answers),
        );
        answers += 1;
      }
      delay.disable();
      expect(answers).toBeGreaterThan(5);
      expect(delay.percentile(90) / 1e6).toBeLessThan(MAX_LAG_MS);
    },
  );
});

describe('a command that does not read its input', () => {
  it('costs a bounded amount of memory, and its calls are told so (T29)', async () => {
    const connection = await aDial()('server.mjs');
    void call(connection, 'stopReading').catch(() => undefined);
    const value = 'x'.repeat(4 * MIB);
    const given = Array.from({ length: 30 }, () => call(connection, 'echo', { value }));
    const outcomes = Promise.allSettled(given);
    const refused = await within(
      Promise.race(given).catch((error: unknown) => error),
      'a refusal',
    );
    expect(refused).toMatchObject({ name: 'NotRunError', message: 'The server does not read its input.' });
    await connection.close();
    const reasons = (await outcomes).map((outcome) => (outcome as PromiseRejectedResult).reason as Error);
    // 16 MiB are three of these; all the others were never taken in.
    expect(reasons.filter(({ name }) => name === 'NotRunError')).toHaveLength(27);
  });
});

describe('what a command says beside the protocol', () => {
  it('never shows the key it was given, in whatever dress, nor keeps more than a little (T29)', async () => {
    const key = 'k/ä+"secret key"=42';
    const bytes = Buffer.from(key);
    const dresses = [
      key,
      bytes.toString('base64'),
      bytes.toString('base64url'),
      Buffer.from(`user:${key}`).toString('base64'),
      Buffer.from(`me:${key}\n`).toString('base64'),
      bytes.toString('hex'),
      bytes.toString('hex').toUpperCase(),
      encodeURIComponent(key),
      encodeURIComponent(key).replaceAll('%20', '+'),
      new URLSearchParams({ key }).toString(),
      JSON.stringify({ key }),
    ];
    const log = aLog();
    const told = new StderrLog(systemClock, log.logger, [new Secret(key)]);
    for (const dress of dresses) {
      told.push(Buffer.from(`key=${dress}.\n`));
      told.stray(Buffer.from(`[${dress}]`));
    }
    const shown = `${log.text()}${told.tail}`;
    expect(log.lines).toHaveLength(2 * dresses.length);
    for (const dress of dresses) expect(shown).not.toContain(dress);
    for (const part of ['secret key', 'secret%20key', 'secret+key']) expect(shown).not.toContain(part);
    expect(shown).not.toContain(bytes.toString('hex').slice(8, 24));
    for (let i = 0; i < 100_000; i += 1) told.push(Buffer.from(`line ${i} of a flood\n`));
    expect(told.tail.length).toBeLessThan(64 * 1024);
    expect(told.tail).toContain('line 99999 of a flood');
  });
});
