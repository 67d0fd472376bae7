// A proxy that is killed cannot end its commands itself; they end all the same.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { createStdioDial } from '../../src/upstream/stdio-dial.ts';
import { endLeftovers } from '../../src/upstream/stdio-leftovers.ts';
import {
  aLog,
  aServer,
  client,
  fixture,
  never,
  none,
  noneLeft,
  processesWith,
  stdioTransport,
  until,
} from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';

let dataDir: string;
let mark: string;
let proxy: ChildProcess | undefined;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'killed-'));
  mark = String(randomInt(1e12, 1e13));
});
afterEach(async () => {
  proxy?.kill('SIGKILL');
  for (const pid of processesWith(mark)) process.kill(Number(pid), 'SIGKILL');
  await rm(dataDir, { recursive: true });
});

async function aProxy(...ways: string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', fixture('a-proxy.ts'), dataDir, mark, ...ways], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  proxy = child;
  await within(once(child.stdout, 'data'), 'the proxy to be ready', 15_000);
  return child;
}

const records = (): Promise<string[]> => readdir(join(dataDir, 'commands'));
const runOf = async (): Promise<string> => (await records())[0] ?? '';
const watchdogs = (run: string): number[] => processesWith(run).map(Number);
/** Without the proxy itself, which has the mark among its arguments too. */
const left = (): string[] => processesWith(mark).filter((pid) => pid !== String(proxy?.pid));

describe('when the proxy is killed', () => {
  it('nothing of its commands is left five seconds later, nor the watchdog (T29)', async () => {
    const child = await aProxy('deaf', 'session', 'daemon');
    const run = await runOf();
    expect(left().length).toBeGreaterThanOrEqual(5);
    expect(watchdogs(run)).toHaveLength(1);
    child.kill('SIGKILL');
    await noneLeft(left, 5_000);
    await within(
      until(() => watchdogs(run).length === 0),
      'the watchdog to end',
    );
  });

  it('a watchdog that was killed before is there again (T29)', async () => {
    const child = await aProxy('deaf');
    const run = await runOf();
    const [first] = watchdogs(run);
    process.kill(Number(first), 'SIGKILL');
    await within(
      until(() => watchdogs(run).some((pid) => pid !== first)),
      'another watchdog',
    );
    child.kill('SIGKILL');
    await noneLeft(left, 5_000);
  });

  it('and the watchdog with it, the next start ends what is left (T29)', async () => {
    const child = await aProxy('deaf', 'daemon');
    const run = await runOf();
    for (const pid of watchdogs(run)) process.kill(pid, 'SIGKILL');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(left().length).toBeGreaterThanOrEqual(2);
    const log = aLog();
    await endLeftovers(dataDir, systemClock, log.logger);
    await noneLeft(left, 500);
    expect(await records()).toEqual([]);
    expect(log.text()).toContain('ended what commands of a killed proxy left behind');
  });
});

describe('the record of running commands', () => {
  const dialHere = () =>
    createStdioDial({
      clock: systemClock,
      logger: aLog('silent').logger,
      client,
      parentEnv: { PATH: process.env['PATH'] },
      dataDir,
    });

  it('is for its owner alone, names who runs, and is gone with the last command; the watchdog too', async () => {
    const dial = dialHere();
    const connection = await dial(aServer(stdioTransport('server.mjs', [mark])), none, never());
    const run = await runOf();
    const [pid] = left();
    const path = join(dataDir, 'commands', run);
    await within(
      (async () => {
        while (!(await readFile(path, 'utf8')).includes(`+ ${pid} `))
          await new Promise((resolve) => setTimeout(resolve, 5));
      })(),
      'the command to be on record',
    );
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(dataDir, 'commands'))).mode & 0o777).toBe(0o700);
    expect(watchdogs(run)).toHaveLength(1);
    await connection.close();
    await within(
      until(() => watchdogs(run).length === 0),
      'the watchdog to end',
    );
    await within(
      (async () => {
        while ((await records()).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      })(),
      'the record to be removed',
    );
  });

  it('of a proxy that lives is left alone, and so are its commands', async () => {
    const connection = await dialHere()(aServer(stdioTransport('server.mjs', [mark])), none, never());
    await endLeftovers(dataDir, systemClock, aLog('silent').logger);
    expect(left()).toHaveLength(1);
    expect(await records()).toHaveLength(1);
    await connection.close();
  });

  it('never leads to a process of somebody else that has the number by now', async () => {
    const stranger = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 30_000)', mark], {
      detached: true,
      stdio: 'ignore',
    });
    const connection = await dialHere()(aServer(stdioTransport('server.mjs')), none, never());
    const [own = ''] = (await readFile(join(dataDir, 'commands', await runOf()), 'utf8')).split('\n');
    await connection.close();
    const dead = own.replace(/\d+ \d+$/, '1 1');
    const folder = join(dataDir, 'commands');
    // Another start, half a line, a start that cannot be read, and what is no record at all.
    await writeFile(join(folder, 'a'.repeat(16)), `${dead}\n+ ${stranger.pid} 1\n+ ${stranger.pid}`);
    await writeFile(join(folder, 'b'.repeat(16)), own.slice(0, 20));
    await writeFile(join(folder, 'c'.repeat(16)), `${dead.replace(/^\S+/, 'another-boot')}\n+ ${stranger.pid} 1\n`);
    await writeFile(join(folder, 'notes.txt'), 'mine');
    await endLeftovers(dataDir, systemClock, aLog('silent').logger);
    expect(left()).toEqual([String(stranger.pid)]);
    expect((await records()).sort()).toEqual(['b'.repeat(16), 'notes.txt']);
    stranger.kill('SIGKILL');
  });
});
