// For the test of what a run says about tests that were skipped.
import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { include: ['test/support/skipping/some-skipped.ts'] } });
