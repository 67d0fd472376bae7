// A vitest reporter that counts tests and writes `passed failed skipped` to the file that test.mjs names. What was skipped goes
// to $TEST_SKIPS_FILE, if set, one line for each: its file, and the names in which it says why.
import { appendFileSync, writeFileSync } from 'node:fs';

export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    const skips = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        count[state]++;
        if (state === 'skipped') skips.push(`${module.relativeModuleId}: ${skippedAs(test)}\n`);
      }
      // A file that does not load, or a hook that fails, has no failing test of its own to be counted.
      const suites = [module, ...module.children.allSuites()];
      count.failed += suites.reduce((sum, suite) => sum + suite.errors().length, 0);
    }
    const { TEST_COUNT_FILE: countFile, TEST_SKIPS_FILE: skipsFile } = process.env;
    if (countFile !== undefined)
      writeFileSync(countFile, `${count.passed} ${count.failed} ${count.skipped + count.pending}\n`);
    if (skipsFile !== undefined && skips.length > 0) appendFileSync(skipsFile, skips.join(''));
  }
}

/** The outermost name that was skipped as a whole, for there the reason stands; a test's own name where it was it alone. */
function skippedAs(test) {
  let named = test;
  for (let one = test; one.type !== 'module'; one = one.parent) if (one.options.mode === 'skip') named = one;
  return named.fullName;
}
