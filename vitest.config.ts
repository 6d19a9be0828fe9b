import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/sequencer.ts';

/** What needs no database. */
const unit = ['test/unit/**/*.test.ts', 'clients/typescript/test/*.test.ts'];

/** Takes long to compute, and changes with the expressions only. */
const analysis = ['test/unit/regular-expressions.test.ts'];

/** Random tests, which `npm run test:long` runs at length. */
const random = [
  'test/conformance/{differential,paging,reference}.test.ts',
  'test/integration/{fuzz-http,isolation,linearizability}.test.ts',
];

export default defineConfig(({ mode }) => ({
  // For the client, which tests import by its package's name.
  resolve: { tsconfigPaths: true },
  test: {
    maxWorkers: 2,
    // The files of a worker share its modules and databases: to load and start them for each file takes most of the time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Ceilings for a stuck test, not measurements: nothing here asserts on time.
    testTimeout: 240_000,
    hookTimeout: 120_000,
    coverage: { include: ['src/**/*.ts'], reporter: ['text', 'html'] },
    projects: [
      {
        extends: true,
        test: {
          name: 'service',
          include: mode === 'long' ? random : ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...unit],
          globalSetup: ['test/support/global-setup.ts'],
          env: mode === 'long' ? { TEST_LONG: 'true' } : {},
        },
      },
      {
        extends: true,
        test: {
          name: 'unit',
          include: mode === 'long' ? analysis : unit,
          exclude: [...configDefaults.exclude, ...(mode === 'long' ? [] : analysis)],
        },
      },
    ],
  },
}));
