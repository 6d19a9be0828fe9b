import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: 2,
    // Ceilings for a stuck test, not measurements: nothing here asserts on time.
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});
