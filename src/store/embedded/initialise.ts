// Makes a new cluster, whole or not at all.
import { chown, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OwnError } from '../../shared/errors.ts';
import type { ClusterHome } from './cluster-home.ts';
import { run } from './run.ts';

export const SUPERUSER = 'keybearer';
const DRAFT = 'pgdata.new-';

export interface InitialiseOptions {
  readonly home: ClusterHome;
  readonly initdb: string;
  /** Of the programs; only the part before the first dot decides what they can read. */
  readonly version: string;
  readonly password: string;
  readonly fsync: boolean;
}

/** True when there was none before. Another process may make one at the same time: the first one stays. */
export async function initialise({ home, initdb, version, password, fsync }: InitialiseOptions): Promise<boolean> {
  const pgdata = join(home.directory, 'pgdata');
  await removeAbandoned(home.directory);
  if (await exists(pgdata)) {
    await requireVersion(pgdata, version);
    return false;
  }
  const draft = join(home.directory, `${DRAFT}${process.pid}`);
  const passwordFile = `${draft}.password`;
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    if (home.account !== undefined) await chown(passwordFile, home.account.uid, home.account.gid);
    await run(home.account, initdb, ...flags(draft, passwordFile, fsync));
    return await moveInto(draft, pgdata);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
}

function flags(pgdata: string, passwordFile: string, fsync: boolean): readonly string[] {
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = [`--username=${SUPERUSER}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  return [`--pgdata=${pgdata}`, ...access, ...locale, ...(fsync ? [] : ['--no-sync'])];
}

async function requireVersion(pgdata: string, version: string): Promise<void> {
  const made = (await readFile(join(pgdata, 'PG_VERSION'), 'utf8')).trim();
  const [major] = version.split('.');
  if (made !== major)
    throw new OwnError(`The database in ${pgdata} was made by PostgreSQL ${made} and cannot be read by ${version}.`);
}

async function moveInto(draft: string, pgdata: string): Promise<boolean> {
  try {
    await rename(draft, pgdata);
    return true;
  } catch (error) {
    if (await exists(pgdata)) return false;
    throw error;
  }
}

/** Left by processes that were killed on the way. */
async function removeAbandoned(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const pid = name.startsWith(DRAFT) ? Number.parseInt(name.slice(DRAFT.length), 10) : Number.NaN;
    if (Number.isNaN(pid) || (pid !== process.pid && isRunning(pid))) continue;
    await rm(join(home, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not allowed to signal it: it runs.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
