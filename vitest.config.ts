import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/sequencer.ts';

/** What needs no database. */
const unit = ['test/unit/**/*.test.ts', 'clients/typescript/test/*.test.ts'];

/** Installs the SDKs from the registry: `npm run test:sdks`. */
const sdks = ['test/sdks/*.test.ts'];

/** What `npm run test:citus` runs. */
const onCitus = [
  'test/{archive,citus,conformance,history,idempotency}/*.test.ts',
  'test/cli/history-commands.test.ts',
  'test/store/{concurrency,edits,isolation,linearizability}.test.ts',
];

const INCLUDED: Partial<Record<string, string[]>> = { sdks, citus: onCitus };

export default defineConfig(({ mode }) => ({
  // For the client, which tests import by its package's name.
  resolve: { tsconfigPaths: true },
  test: {
    maxWorkers: 2,
    // The files of a worker share its modules and databases: to load and start them for each file takes most of the time.
    isolate: false,
    // PGlite's WebAssembly is compiled but not optimized: to optimize it takes longer than what it saves.
    execArgv: ['--liftoff-only'],
    sequence: { sequencer: LongestFirst },
    // Ceilings for a stuck test, not measurements: nothing here asserts on time.
    testTimeout: 240_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    tags: [
      {
        name: 'long',
        description: 'Runs in `npm run test:long` only: slow by nature, or a process of its own.',
      },
      { name: 'random', description: 'Runs in `npm test` and, with more runs, in `npm run test:long`.' },
    ],
    env: mode === 'long' ? { TEST_LONG: 'true' } : {},
    coverage: { include: ['src/**/*.ts'], reporter: ['text', 'html'] },
    projects: [
      {
        extends: true,
        test: {
          name: 'service',
          include: INCLUDED[mode] ?? ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...unit, ...(mode === 'sdks' ? [] : sdks)],
          globalSetup: ['test/support/global-setup.ts'],
          // On Citus, the other suites need not run on PGlite too.
          env: mode === 'citus' ? { TEST_BACKENDS: 'postgres' } : {},
        },
      },
      { extends: true, test: { name: 'unit', include: mode === 'sdks' ? [] : unit } },
    ],
  },
}));
