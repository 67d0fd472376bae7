import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/shared/logger.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/store/embedded.ts';
import { eventually } from './eventually.ts';

const START_AND_WAIT = fileURLToPath(new URL('start-and-wait.ts', import.meta.url));
const logger = createLogger('silent');

let dataDir: string;
let running: EmbeddedPostgres[];
let children: ChildProcess[];
beforeEach(async () => {
  running = [];
  children = [];
  dataDir = await mkdtemp(join(tmpdir(), 'keybearer-embedded-'));
  await chmod(dataDir, 0o711);
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const server of running.reverse()) await server.stop();
  await rm(dataDir, { recursive: true, force: true, maxRetries: 20 });
});

async function start(): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, logger, fsync: false });
  running.push(server);
  return server;
}

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function remember(url: string): Promise<void> {
  await query(url, 'CREATE TABLE kept (word text)');
  await query(url, `INSERT INTO kept VALUES ('still here')`);
}

const recall = (url: string): Promise<readonly unknown[]> => query(url, 'SELECT word FROM kept');

async function postmasterPid(): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'pgdata', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** A dead one that nobody has buried yet (state Z) does not count. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z');
  return !stat.includes(') Z');
}

interface OtherProcess {
  readonly child: ChildProcess;
  readonly url: string;
}

async function startElsewhere(): Promise<OtherProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', START_AND_WAIT, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  if (child.stdout === null) throw new Error('no output');
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url } = JSON.parse(line) as { url: string };
  return { child, url };
}

describe('the embedded database', { timeout: 60_000 }, () => {
  it('keeps what was written when it is stopped and started again', async () => {
    const first = await start();
    expect(first.fresh).toBe(true);
    await remember(first.url);
    const pid = await postmasterPid();
    await Promise.all([first.stop(), first.stop()]);
    expect(await isAlive(pid)).toBe(false);
    const second = await start();
    expect(second.fresh).toBe(false);
    expect(await recall(second.url)).toEqual([{ word: 'still here' }]);
  });

  it('listens on loopback only, and asks for a password that only we can read', async () => {
    const { url } = await start();
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect(await query(url, 'SHOW unix_socket_directories')).toEqual([{ unix_socket_directories: '' }]);
    const stranger = new URL(url);
    stranger.password = 'guess';
    await expect(query(stranger.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    expect((await stat(join(dataDir, 'postgres.password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(dataDir, 'postgres'))).mode & 0o777).toBe(0o700);
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres.password']);
    expect(await readdir(join(dataDir, 'postgres'))).toEqual(['pgdata']);
  });

  it('starts again after its server was killed with -9', async () => {
    const first = await start();
    await remember(first.url);
    const pid = await postmasterPid();
    process.kill(pid, 'SIGKILL');
    await eventually('the end of the server', async () => !(await isAlive(pid)));
    const second = await start();
    expect(await recall(second.url)).toEqual([{ word: 'still here' }]);
  });

  it('starts although the note of a dead server names the pid of somebody else', async () => {
    await (await start()).stop();
    const note = join(dataDir, 'postgres', 'pgdata', 'postmaster.pid');
    await writeFile(note, `${process.pid}\n${join(dataDir, 'postgres', 'pgdata')}\n1\n5432\n\n127.0.0.1\n\nready\n`);
    const { url } = await start();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('joins the server of a living process, and leaves it running', async () => {
    const owner = await start();
    const guest = await start();
    expect(guest.url).toBe(owner.url);
    expect(guest.fresh).toBe(false);
    await guest.stop();
    expect(await query(owner.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('makes one cluster when two start at once on nothing', async () => {
    const [one, two] = await Promise.all([startElsewhere(), startElsewhere()]);
    await remember(one.url);
    expect(await recall(two.url)).toEqual([{ word: 'still here' }]);
  });

  it('ends its server when its process is killed with -9, and starts again', async () => {
    const { child, url } = await startElsewhere();
    await remember(url);
    const pid = await postmasterPid();
    child.kill('SIGKILL');
    const again = await start();
    expect(await recall(again.url)).toEqual([{ word: 'still here' }]);
    await eventually('the end of the old server', async () => !(await isAlive(pid)), 15_000);
  });

  it.runIf(process.platform === 'linux')('takes over a server that was left running, and ends it', async () => {
    const { child, url } = await startElsewhere();
    await remember(url);
    const pid = await postmasterPid();
    // The guard first, as when a whole group is killed except for the database.
    for (const guard of await guardsOf(pid)) process.kill(guard, 'SIGKILL');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await isAlive(pid)).toBe(true);
    const again = await start();
    expect(await recall(again.url)).toEqual([{ word: 'still here' }]);
    expect(await postmasterPid()).toBe(pid);
    await again.stop();
    expect(await isAlive(pid)).toBe(false);
  });

  it('says which file is wrong when the password does not fit', async () => {
    const server = await start();
    await writeFile(join(dataDir, 'postgres.password'), 'another\n');
    await expect(startEmbeddedPostgres({ dataDir, logger, fsync: false })).rejects.toThrow('postgres.password');
    await server.stop();
  });

  it('does not touch a cluster of another version', async () => {
    await (await start()).stop();
    await writeFile(join(dataDir, 'postgres', 'pgdata', 'PG_VERSION'), '9\n');
    await expect(startEmbeddedPostgres({ dataDir, logger, fsync: false })).rejects.toThrow('was made by PostgreSQL 9');
  });
});

async function guardsOf(pid: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('keybearer-guard') && command.includes(`\0${pid}\0`)) found.push(Number(name));
  }
  return found;
}
