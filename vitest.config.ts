import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/tripwire.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    coverage: {
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'html'],
      // Where a missed branch is a hole in the wall between two tenants or two people.
      thresholds: {
        'src/{policy,credential,identity}/**': { branches: 95 },
      },
    },
  },
});
