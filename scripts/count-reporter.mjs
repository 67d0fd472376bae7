// A vitest reporter that counts tests and writes `passed failed skipped` to the file that test.mjs names. What was skipped goes
// to $TEST_SKIPS_FILE, if set, one line for each: its file, and the names in which it says why; what failed goes in the same way
// to $TEST_FAILURES_FILE, with the first line of what it said.
import { appendFileSync, writeFileSync } from 'node:fs';

export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const skips = [];
    const failures = unhandledErrors.map((error) => `caught nowhere: ${firstLine(error)}`);
    for (const module of modules) {
      const file = module.relativeModuleId;
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        count[state]++;
        if (state === 'skipped') skips.push(`${file}: ${skippedAs(test)}`);
        if (state === 'failed') failures.push(`${file}: ${test.fullName}: ${firstLine(errors[0])}`);
      }
      // A file that does not load, or a hook that fails, has no failing test of its own to be counted.
      const broken = [module, ...module.children.allSuites()].flatMap((suite) => suite.errors());
      failures.push(...broken.map((error) => `${file}: ${firstLine(error)}`));
    }
    count.failed = failures.length;
    const { TEST_COUNT_FILE, TEST_SKIPS_FILE, TEST_FAILURES_FILE } = process.env;
    if (TEST_COUNT_FILE !== undefined)
      writeFileSync(TEST_COUNT_FILE, `${count.passed} ${count.failed} ${count.skipped + count.pending}\n`);
    appendLines(TEST_SKIPS_FILE, skips);
    appendLines(TEST_FAILURES_FILE, failures);
  }
}

const firstLine = (error) =>
  String(error?.message ?? error)
    .split('\n')[0]
    .slice(0, 300);

function appendLines(file, lines) {
  if (file !== undefined && lines.length > 0) appendFileSync(file, lines.map((line) => `${line}\n`).join(''));
}

/** The outermost name that was skipped as a whole, for there the reason stands; a test's own name where it was it alone. */
function skippedAs(test) {
  let named = test;
  for (let one = test; one.type !== 'module'; one = one.parent) if (one.options.mode === 'skip') named = one;
  return named.fullName;
}
