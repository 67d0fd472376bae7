// A copy of the PostgreSQL programs that everybody may run and nobody but us can have written.
import type { Stats } from 'node:fs';
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { NativePackage } from './binaries.ts';

// Libraries to link against; two thirds of nothing that a server needs.
const SKIPPED = /\.a$|\/pkgconfig$|\/include$/;
const READ_AND_RUN = 0o755;

/** The copy's root (it has `native/` below it, as the package has), or undefined when `cache` does not do. */
export async function copyNative(source: NativePackage, cache: string): Promise<string | undefined> {
  try {
    await mkdir(cache, { recursive: true, mode: 0o711 });
    if (!(await isSafeParent(cache))) return undefined;
    const target = join(cache, `keybearer-postgres-${source.version}-${process.getuid?.() ?? 0}`);
    if (await isOurCopy(target, source)) return target;
    return await place(await makeCopy(source, target), target, source);
  } catch {
    // Full, read-only, not ours: the next cache may do.
    return undefined;
  }
}

/** Nobody else can rename what we put there. */
async function isSafeParent(cache: string): Promise<boolean> {
  const { mode } = await stat(cache);
  const othersMayWrite = (mode & 0o022) !== 0;
  const sticky = (mode & 0o1000) !== 0;
  return !othersMayWrite || sticky;
}

/** Ours, closed to others, and whole: cleaners of temporary directories take single files. */
async function isOurCopy(target: string, source: NativePackage): Promise<boolean> {
  const found = await lstat(target).catch(() => undefined);
  if (found === undefined || !isOurs(found)) return false;
  const checks = (await filesOf(source)).map(async (file) => {
    const [wanted, there] = await Promise.all([
      lstat(join(source.directory, file)),
      lstat(join(target, file)).catch(() => undefined),
    ]);
    return there !== undefined && there.size === wanted.size;
  });
  const links = (await readLinks(source)).map(({ link }) => lstat(join(target, link)).then(Boolean, () => false));
  return (await Promise.all([...checks, ...links])).every(Boolean);
}

function isOurs(found: Stats): boolean {
  return found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o022) === 0;
}

async function makeCopy(source: NativePackage, target: string): Promise<string> {
  // Made under a name that nobody could guess, mode 0700 until it is whole.
  const copy = await mkdtemp(`${target}.`);
  const native = join(copy, 'native');
  await cp(join(source.directory, 'native'), native, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !SKIPPED.test(path),
  });
  // The package makes its links in an install script, which may have been blocked.
  for (const { link, to } of await readLinks(source)) await symlink(to, join(copy, link)).catch(() => undefined);
  for (const entry of await readdir(native, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), READ_AND_RUN);
  }
  await chmod(native, READ_AND_RUN);
  await chmod(copy, READ_AND_RUN);
  return copy;
}

/** Puts the copy under its name; what is there and not ours is left, and this cache does not do. */
async function place(copy: string, target: string, source: NativePackage): Promise<string | undefined> {
  const found = await lstat(target).catch(() => undefined);
  if (found !== undefined && isOurs(found) && !(await isOurCopy(target, source))) {
    const broken = `${copy}.old`;
    await rename(target, broken);
    await rm(broken, { recursive: true, force: true });
  }
  try {
    await rename(copy, target);
    return target;
  } catch {
    await rm(copy, { recursive: true, force: true });
    return (await isOurCopy(target, source)) ? target : undefined;
  }
}

async function filesOf({ directory }: NativePackage): Promise<readonly string[]> {
  const entries = await readdir(join(directory, 'native'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .filter((file) => !SKIPPED.test(file) && !SKIPPED.test(dirname(file)));
}

async function readLinks({ directory }: NativePackage): Promise<readonly { link: string; to: string }[]> {
  const text = await readFile(join(directory, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(text) as readonly { source: string; target: string }[];
  return links.map(({ source, target }) => ({ link: target, to: relative(dirname(target), source) }));
}
