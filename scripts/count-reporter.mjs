// A vitest reporter that counts tests and writes `passed failed skipped` to the file that test.mjs names.
import { writeFileSync } from 'node:fs';

export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state]++;
      // A file that does not load, or a hook that fails, has no failing test of its own to be counted.
      const suites = [module, ...module.children.allSuites()];
      count.failed += suites.reduce((sum, suite) => sum + suite.errors().length, 0);
    }
    const file = process.env.TEST_COUNT_FILE;
    if (file !== undefined) writeFileSync(file, `${count.passed} ${count.failed} ${count.skipped + count.pending}\n`);
  }
}
