// Whom PostgreSQL runs as when we are root: the cluster's owner, else an unprivileged user of the system.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { OwnError } from '../../shared/errors.ts';
import { type Account, canRun } from './run.ts';

const PREFERRED = ['postgres', 'nobody'];
const CREATED = 'keybearer';

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Undefined when we are not root and run it ourselves. */
export async function resolveAccount(): Promise<Account | undefined> {
  if (!isRoot()) return undefined;
  for (const name of [...PREFERRED, CREATED]) {
    const account = await findAccount(name);
    if (account !== undefined) return account;
  }
  return createAccount();
}

async function createAccount(): Promise<Account> {
  // shadow-utils first, then BusyBox.
  const created =
    (await canRun(undefined, '/usr/sbin/useradd', '--system', '--no-create-home', '--shell', '/bin/false', CREATED)) ||
    (await canRun(undefined, '/usr/sbin/adduser', '-S', '-D', '-H', '-s', '/bin/false', CREATED));
  const account = created ? await findAccount(CREATED) : undefined;
  if (account !== undefined) return account;
  throw new OwnError(
    'PostgreSQL does not run as root, and there is no user to run it as: create a user named "postgres", or set DATABASE_URL.',
  );
}

/** By `id`, which asks all sources of users that the system has. */
async function findAccount(name: string): Promise<Account | undefined> {
  try {
    const [uid, gid] = await Promise.all([idOf('-u', name), idOf('-g', name)]);
    return Number.isInteger(uid) && Number.isInteger(gid) && uid > 0 ? { uid, gid } : undefined;
  } catch {
    return undefined;
  }
}

async function idOf(option: '-u' | '-g', name: string): Promise<number> {
  const { stdout } = await promisify(execFile)('id', [option, name], { timeout: 5_000 });
  return Number.parseInt(stdout, 10);
}
