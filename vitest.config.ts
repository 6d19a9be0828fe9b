import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: 2,
    // The files of a worker share its modules, which saves loading them some twenty times: a third of the run's time.
    isolate: false,
    // Ceilings for a stuck test, not measurements: nothing here asserts on time.
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});
