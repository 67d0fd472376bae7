// Compiles src into dist. With `--if-needed`: only when dist is missing or older than what it is made
// from, so that `npm start` is quick the second time.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';

// Written last, so a build that failed half-way is not taken for a finished one.
const STAMP = 'dist/.built';

function newestTime(path) {
  const found = statSync(path);
  if (!found.isDirectory()) return found.mtimeMs;
  // A directory's own time counts too: it moves when a file is deleted.
  return Math.max(found.mtimeMs, ...readdirSync(path).map((name) => newestTime(`${path}/${name}`)));
}

function isFresh() {
  // A packed product carries dist and no src.
  if (!existsSync('src')) return true;
  if (!existsSync(STAMP)) return false;
  const builtAt = statSync(STAMP).mtimeMs;
  return ['src', 'tsconfig.json', 'tsconfig.build.json'].every((path) => newestTime(path) <= builtAt);
}

process.chdir(new URL('..', import.meta.url).pathname);
if (process.argv.includes('--if-needed')) {
  if (isFresh()) process.exit(0);
  console.log('building (once, about 15 s) …');
}
rmSync('dist', { recursive: true, force: true });
const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
});
if (status !== 0) process.exit(status ?? 1);
if (existsSync('dist/main.js')) chmodSync('dist/main.js', 0o755);
writeFileSync(STAMP, '');
