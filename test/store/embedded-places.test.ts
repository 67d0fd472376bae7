import { execFile } from 'node:child_process';
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isRoot, resolveAccount } from '../../src/store/embedded/account.ts';
import { findNativePackage, type NativePackage, resolveBinaries } from '../../src/store/embedded/binaries.ts';
import { resolveClusterHome } from '../../src/store/embedded/cluster-home.ts';

/** Open to everybody, as a system directory is. */
let open: string;
/** Only its owner may enter. */
let closed: string;
beforeEach(async () => {
  open = await mkdtemp(join(tmpdir(), 'keybearer-places-'));
  await chmod(open, 0o755);
  closed = join(open, 'closed');
  await mkdir(closed, { mode: 0o700 });
});
afterEach(() => rm(open, { recursive: true, force: true }));

describe('the home of a cluster', () => {
  it('is in the data directory, closed to others, and belongs to whom the server runs as', async () => {
    const { directory, account } = await resolveClusterHome(open, []);
    expect(directory).toBe(join(open, 'postgres'));
    const { mode, uid } = await stat(directory);
    expect(mode & 0o777).toBe(0o700);
    expect(uid).toBe(account?.uid ?? process.getuid?.());
    expect(account === undefined).toBe(!isRoot());
    expect(uid).not.toBe(0);
    expect(await resolveClusterHome(open, [])).toEqual({ directory, account });
  });

  it.runIf(isRoot())('is outside, with a note where, when only root can enter the data directory', async () => {
    const file = join(open, 'a file, no directory');
    await writeFile(file, '');
    const { directory, account } = await resolveClusterHome(closed, [file, closed, join(open, 'lib')]);
    expect(directory.startsWith(join(open, 'lib', 'keybearer-'))).toBe(true);
    const { mode, uid } = await stat(directory);
    expect([mode & 0o777, uid]).toEqual([0o700, account?.uid]);
    expect(await readFile(join(closed, 'postgres.location'), 'utf8')).toBe(`${directory}\n`);
    expect((await readdir(closed)).sort()).toEqual(['postgres.location']);
    expect(await resolveClusterHome(closed, [])).toEqual({ directory, account });
  });

  it('is not replaced by an empty one when it is gone', async () => {
    await writeFile(join(open, 'postgres.location'), `${join(open, 'gone')}\n`);
    await expect(resolveClusterHome(open, [open])).rejects.toThrow('but it is not there');
  });

  it.runIf(isRoot())('runs as its owner, also when root starts what somebody else has made', async () => {
    await mkdir(join(open, 'postgres'), { mode: 0o700 });
    await chown(join(open, 'postgres'), 12_345, 54_321);
    expect((await resolveClusterHome(open, [])).account).toEqual({ uid: 12_345, gid: 54_321 });
  });

  it.runIf(isRoot())('says who cannot enter it, when directories above it were closed later', async () => {
    await chmod(closed, 0o755);
    await resolveClusterHome(closed, []);
    await chmod(closed, 0o700);
    await expect(resolveClusterHome(closed, [])).rejects.toThrow('cannot enter it');
  });
});

describe('the programs', { timeout: 60_000 }, () => {
  /** The package again at another place, by hard links where that is possible. */
  async function aPackageIn(directory: string): Promise<NativePackage> {
    const { directory: source, version } = await findNativePackage();
    const target = join(directory, 'package');
    await promisify(execFile)('cp', ['-al', source, target]).catch(() =>
      promisify(execFile)('cp', ['-a', source, target]),
    );
    return { directory: target, version };
  }

  async function withoutLinks(source: NativePackage): Promise<NativePackage> {
    const lib = join(source.directory, 'native', 'lib');
    for (const entry of await readdir(lib, { withFileTypes: true }))
      if (entry.isSymbolicLink()) await rm(join(lib, entry.name));
    return source;
  }

  const nameOf = ({ version }: NativePackage): string => `keybearer-postgres-${version}-${process.getuid?.() ?? 0}`;

  it('are run in place when that works', async () => {
    const source = await findNativePackage();
    const { postgres } = await resolveBinaries(source, await resolveAccount(), []);
    expect(postgres).toBe(join(source.directory, 'native', 'bin', 'postgres'));
  });

  it.runIf(isRoot())('are copied, once, when only root can reach them', async () => {
    const source = await aPackageIn(closed);
    const account = await resolveAccount();
    await expect(resolveBinaries(source, account, [])).rejects.toThrow('cannot be run');
    const first = await resolveBinaries(source, account, [closed, join(open, 'cache')]);
    expect(first.postgres).toBe(join(open, 'cache', nameOf(source), 'native', 'bin', 'postgres'));
    const before = await stat(first.postgres);
    await resolveBinaries(source, account, [join(open, 'cache')]);
    expect((await stat(first.postgres)).ino).toBe(before.ino);
    expect(await readdir(join(open, 'cache'))).toEqual([nameOf(source)]);
  });

  it('get the links that a blocked install script did not make, and are whole again after a cleaner has been there', async () => {
    const source = await withoutLinks(await aPackageIn(open));
    const account = await resolveAccount();
    const { postgres } = await resolveBinaries(source, account, [open]);
    expect(postgres).toBe(join(open, nameOf(source), 'native', 'bin', 'postgres'));
    const cleaned = join(open, nameOf(source), 'native', 'share', 'postgresql', 'timezonesets', 'Default');
    await rm(cleaned);
    await resolveBinaries(source, account, [open]);
    expect((await stat(cleaned)).isFile()).toBe(true);
  });

  it.runIf(isRoot())('are never taken from where somebody else could have put them', async () => {
    const source = await withoutLinks(await aPackageIn(open));
    const [planted, writable, shared, good] = ['planted', 'writable', 'shared', 'good'].map((name) => join(open, name));
    if (!planted || !writable || !shared || !good) throw new Error('no directories');
    await resolveBinaries(source, undefined, [planted]);
    await promisify(execFile)('cp', ['-a', planted, writable]);
    await promisify(execFile)('cp', ['-a', planted, shared]);
    await chown(join(planted, nameOf(source)), 12_345, 12_345);
    await chmod(join(writable, nameOf(source)), 0o777);
    await chmod(shared, 0o777);
    const { postgres } = await resolveBinaries(source, await resolveAccount(), [planted, writable, shared, good]);
    expect(postgres.startsWith(join(good, nameOf(source)))).toBe(true);
    // Left as they were found.
    expect((await lstat(join(planted, nameOf(source)))).uid).toBe(12_345);
  });
});
