// `npm run test:under-attack`: tests that measure the product while somebody attacks it. They are apart from the others
// because they want the machine for themselves: one after another, and nothing beside them.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/proof/*.measured.ts'],
    setupFiles: ['test/support/tripwire.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
