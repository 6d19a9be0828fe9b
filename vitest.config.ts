import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/sequencer.ts';

/** What needs no database. */
const unit = ['src/**/*.test.ts', 'test/project/*.test.ts', 'clients/typescript/test/*.test.ts'];

/** Installs the SDKs from the registry. */
const sdks = ['test/sdks/*.test.ts'];

/** Where a tenant's data is, and what moves it. */
const onCitus = [
  'test/{archive,citus,conformance,drafts,history,hosted,migrate-data,mounts}/*.test.ts',
  'test/tenants/{idempotency,usage}.test.ts',
  'test/cli/history-commands.test.ts',
  'test/files/{concurrency,edits,isolation,linearizability}.test.ts',
];

interface TestSet {
  /** The files of the project `service`; by default all but those of `unit` and `sdks`. */
  files?: string[];
  tagsFilter?: string[];
  postgres?: string;
}

/** What `npm run test:SET` runs. Tests read the set's name as TEST_SET. Without one, `npx vitest FILE` runs all tests of the file. */
const SETS: Partial<Record<string, TestSet>> = {
  quick: { tagsFilter: ['!long && !mounted && !(pglite && long-on-pglite)'] },
  long: { tagsFilter: ['long || random || mounted || (pglite && long-on-pglite)'] },
  sdks: { files: sdks },
  citus: { files: onCitus, tagsFilter: ['!long'], postgres: 'citus' },
};

export default defineConfig(({ mode }) => {
  const { files, tagsFilter, postgres } = SETS[mode] ?? {};
  // Projects do not inherit it, and the global setup reads that of the root.
  const selection = tagsFilter === undefined ? {} : { tagsFilter };
  // For the global setup, which starts the database.
  if (postgres !== undefined) process.env.TEST_POSTGRES ??= postgres;
  return {
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
        {
          name: 'mounted',
          description:
            'Runs in `npm run test:long`, and on Citus: the conformance suite below a mount, and many agents on one.',
        },
        { name: 'pglite', description: 'What `describeService` runs on PGlite. It sets this tag.' },
        {
          name: 'long-on-pglite',
          description: 'Runs on Postgres in `npm test`, and on PGlite in `npm run test:long`.',
        },
        { name: 'random', description: 'Runs in `npm test` and, with more runs, in `npm run test:long`.' },
      ],
      env: SETS[mode] === undefined ? {} : { TEST_SET: mode },
      ...selection,
      coverage: { include: ['src/**/*.ts'], exclude: ['src/**/*.test.ts'], reporter: ['text', 'html'] },
      projects: [
        {
          extends: true,
          test: {
            name: 'service',
            ...selection,
            include: files ?? ['test/**/*.test.ts'],
            exclude: [...configDefaults.exclude, ...unit, ...(files === sdks ? [] : sdks)],
            globalSetup: ['test/support/global-setup.ts'],
          },
        },
        { extends: true, test: { name: 'unit', ...selection, include: files === undefined ? unit : [] } },
      ],
    },
  };
});
