// The one command before a commit: format, layers, types, dead code, lint, tests. Quick ones first, and
// the first failure ends it. `--no-tests` leaves out the last. Each step is also a script of its own.
import { spawnSync } from 'node:child_process';

const STATIC_STEPS = ['format', 'layers', 'types', 'dead-code', 'lint'];

process.chdir(new URL('..', import.meta.url).pathname);

for (const step of STATIC_STEPS) {
  const began = performance.now();
  const run = spawnSync('npm', ['run', '--silent', `check:${step}`], { encoding: 'utf8', maxBuffer: 100_000_000 });
  const isOk = run.status === 0;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${step.padEnd(10)} ${isOk ? 'ok' : 'FAILED'}  ${seconds} s`);
  const output = `${run.stdout ?? ''}${run.stderr ?? ''}${run.error ?? ''}`.trim();
  // Warnings of the linter fail nothing, and are read all the same.
  if (!isOk || (step === 'lint' && output !== '')) console.log(output);
  if (!isOk) {
    console.log(`\nStopped at ${step}: nothing after it was checked. Again, alone: npm run check:${step}`);
    process.exit(1);
  }
}

if (!process.argv.includes('--no-tests')) {
  process.exitCode = spawnSync(process.execPath, ['scripts/test.mjs'], { stdio: 'inherit' }).status ?? 1;
}
