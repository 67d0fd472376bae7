// Finds, and stops, the server process that serves a cluster. A pid alone is never believed: after a crash
// or in a new container it may be anybody's.
import { execFile } from 'node:child_process';
import { readFile, readlink, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../shared/clock.ts';

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
}

const STOP_TIMEOUT_MS = 10_000;
const LOOK_EVERY_MS = 25;

/** The running server of this cluster; the note of one that is gone is removed, for its pid may be in use again. */
export async function findPostmaster(pgdata: string): Promise<Postmaster | undefined> {
  const note = join(pgdata, 'postmaster.pid');
  const lines = (await readFile(note, 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  if (await isPostmaster(pid, pgdata)) return { pid, port: Number(lines[3]) };
  await rm(note, { force: true });
  return undefined;
}

/** A running process that works in this cluster's directory, as no other does. */
export async function isPostmaster(pid: number, pgdata: string): Promise<boolean> {
  if (process.platform === 'linux') {
    const [cwd, wanted] = await Promise.all([
      readlink(`/proc/${pid}/cwd`).catch(() => ''),
      realpath(pgdata).catch(() => pgdata),
    ]);
    return cwd === wanted;
  }
  const command = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return command.stdout.includes(pgdata);
}

/** Fast shutdown (running queries are cut, nothing committed is lost); after ten seconds that one process is killed. */
export async function stopPostmaster(pid: number, pgdata: string, clock: Clock): Promise<void> {
  signal(pid, 'SIGINT');
  if (await isGone(pid, pgdata, clock)) return;
  signal(pid, 'SIGKILL');
  await isGone(pid, pgdata, clock);
}

async function isGone(pid: number, pgdata: string, clock: Clock): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < STOP_TIMEOUT_MS; waitedMs += LOOK_EVERY_MS) {
    if (!(await isPostmaster(pid, pgdata))) return true;
    await clock.sleep(LOOK_EVERY_MS);
  }
  return false;
}

function signal(pid: number, name: 'SIGINT' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already.
  }
}
