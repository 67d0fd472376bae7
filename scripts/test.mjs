// Runs the tests and ends with one plain line, `N passed, N failed`. Arguments go to vitest.
//
// The line is printed here and not by a reporter, because vitest still talks after its reporters have
// finished, and because a run that dies must be reported too. Appends its counts to $TEST_TOTALS_FILE
// if set, for whoever adds up several runs.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

process.chdir(new URL('..', import.meta.url).pathname);
const directory = mkdtempSync(join(tmpdir(), 'test-count-'));
const countFile = join(directory, 'counts');

const vitest = [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--reporter=default',
  '--reporter=./scripts/count-reporter.mjs',
];
const child = spawn(process.execPath, [...vitest, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, TEST_COUNT_FILE: countFile },
});
// The terminal sends these to the child as well; stay until it has cleaned up.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));

child.on('exit', (code) => {
  const text = existsSync(countFile) ? readFileSync(countFile, 'utf8') : '0 0 0';
  rmSync(directory, { recursive: true, force: true });
  const [passed, failures, skipped] = text.trim().split(' ').map(Number);
  if (passed + failures === 0) console.log('No test ran.');
  // Whatever made vitest fail counts as one failure when no test did.
  const failed = failures === 0 && (code !== 0 || passed === 0) ? 1 : failures;
  if (process.env.TEST_TOTALS_FILE) appendFileSync(process.env.TEST_TOTALS_FILE, `${passed} ${failed} ${skipped}\n`);
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
});
