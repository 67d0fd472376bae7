// Where the cluster lives: in the data directory when its owner can enter it, else outside, with a note where.
import { createHash, randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OwnError } from '../../shared/errors.ts';
import { isRoot, resolveAccount } from './account.ts';
import { type Account, canRun } from './run.ts';

export interface ClusterHome {
  /** Mode 0700, owned by `account`. */
  readonly directory: string;
  readonly account: Account | undefined;
}

/** Says where the cluster is when it is not in the data directory. */
export const LOCATION_FILE = 'postgres.location';
const OUTSIDE = ['/var/lib/keybearer', '/var/tmp'];

/** The home of this data directory's cluster, made when there is none. `dataDir` is absolute. */
export async function resolveClusterHome(dataDir: string, outside: readonly string[] = OUTSIDE): Promise<ClusterHome> {
  const noted = await readLocation(dataDir);
  const owner = await ownerOf(noted ?? join(dataDir, 'postgres'));
  if (owner !== undefined) return toKnownHome(noted ?? join(dataDir, 'postgres'), owner);
  if (noted === undefined) return makeHome(dataDir, outside);
  // Rather than an empty database in its place, and everything that was known gone without a word.
  throw new OwnError(`${join(dataDir, LOCATION_FILE)} says that the database is in ${noted}, but it is not there.`);
}

async function readLocation(dataDir: string): Promise<string | undefined> {
  try {
    return (await readFile(join(dataDir, LOCATION_FILE), 'utf8')).trim();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Undefined when there is no such directory, or one that was never finished. */
async function ownerOf(home: string): Promise<Account | undefined> {
  try {
    const { uid, gid } = await stat(home);
    // Root owns one only between its making and its handing over; that is taken up again.
    return isRoot() && uid === 0 ? undefined : { uid, gid };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Runs as whoever made it, so that `sudo` once and no `sudo` the next time, or the other way, is no disaster. */
async function toKnownHome(directory: string, owner: Account): Promise<ClusterHome> {
  const account = isRoot() ? owner : undefined;
  if (!isRoot() && process.getuid !== undefined && owner.uid !== process.getuid()) {
    throw new OwnError(`The database in ${directory} belongs to user ${owner.uid}; start as that user or as root.`);
  }
  if (await canEnter(directory, account)) return { directory, account };
  throw new OwnError(
    `User ${owner.uid}, who owns the database in ${directory}, cannot enter it; open the directories above it.`,
  );
}

async function makeHome(dataDir: string, outside: readonly string[]): Promise<ClusterHome> {
  const account = await resolveAccount();
  const inside = join(dataDir, 'postgres');
  if (await makeEnterable(inside, account)) return { directory: inside, account };
  for (const parent of outside) {
    const directory = await makeOutside(dataDir, parent, account);
    if (directory === undefined) continue;
    await writeFile(join(dataDir, LOCATION_FILE), `${directory}\n`, { mode: 0o600 });
    return { directory, account };
  }
  throw new OwnError(
    `No directory for the database was found that user ${account?.uid ?? 'running this'} can enter; set DATABASE_URL.`,
  );
}

/** Named after the data directory, for whoever wonders; and with a random part, so that nobody can be there first. */
async function makeOutside(dataDir: string, parent: string, account: Account | undefined): Promise<string | undefined> {
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 12);
  const directory = join(parent, `keybearer-${hash}-${randomBytes(6).toString('hex')}`);
  const hasParent = await mkdir(parent, { recursive: true, mode: 0o711 }).then(
    () => true,
    () => false,
  );
  return hasParent && (await makeEnterable(directory, account)) ? directory : undefined;
}

async function makeEnterable(directory: string, account: Account | undefined): Promise<boolean> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    if (account !== undefined) await chown(directory, account.uid, account.gid);
  } catch {
    return false;
  }
  if (await canEnter(directory, account)) return true;
  await rmdir(directory).catch(() => undefined);
  return false;
}

/** Tried, not computed: every directory above has a say. */
async function canEnter(directory: string, account: Account | undefined): Promise<boolean> {
  return account === undefined || canRun(account, '/bin/sh', '-c', 'cd "$1" && test -w .', 'sh', directory);
}
