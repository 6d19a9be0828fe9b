import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/sequencer.ts';

/** Tests that need no database. */
const unit = [
  'src/**/*.test.ts',
  'console/src/**/*.test.ts',
  'test/project/*.test.ts',
  'clients/mcp/src/*.test.ts',
  'clients/typescript/test/*.test.ts',
];

/** Tests that install the SDKs from the registry. */
const sdks = ['test/sdks/*.test.ts'];

/** Tests of features that depend on the node of a tenant's data, or that move the data. */
const onCitus = [
  'test/{admin,archive,citus,conformance,context,drafts,feed,health,history,incidents,mounts,provenance,reads,rights,search,secrets,sharing,tenants,webhooks}/*.test.ts',
  'test/cli/history-commands.test.ts',
  'test/database/hostile-settings.test.ts',
  'test/files/{concurrency,edits,isolation,linearizability}.test.ts',
];

interface TestSet {
  /** Files of the project `service`. The default is all files outside `unit` and `sdks`. */
  files?: string[];
  tagsFilter?: string[];
  postgres?: string;
}

/**
 * Tests of `npm run test:SET`. Tests read the name of the set from TEST_SET. `npx vitest FILE` has no set and runs all
 * tests of the file.
 */
const SETS: Partial<Record<string, TestSet>> = {
  quick: { tagsFilter: ['!long && !mounted && !citus && !(pglite && long-on-pglite)'] },
  long: { tagsFilter: ['long || random || mounted || (pglite && long-on-pglite)'] },
  sdks: { files: sdks },
  citus: { files: onCitus, tagsFilter: ['!long'], postgres: 'citus' },
};

export default defineConfig(({ mode }) => {
  const { files, tagsFilter, postgres } = SETS[mode] ?? {};
  // Set for the root, where the global setup reads it, and for each project, because projects do not inherit it.
  const selection = tagsFilter === undefined ? {} : { tagsFilter };
  // The global setup reads TEST_POSTGRES and starts the database.
  if (postgres !== undefined) process.env.TEST_POSTGRES ??= postgres;
  return {
    // Tests import the client by the name of its package.
    resolve: { tsconfigPaths: true },
    test: {
      maxWorkers: 2,
      // The files of a worker share its modules and databases. Loading and starting them for each file would take most of
      // the time.
      isolate: false,
      // Keeps the transformed modules for later runs, until `npm ci`.
      experimental: { fsModuleCache: true },
      // Compiles the WebAssembly of PGlite without optimization, which would take longer than the time that it saves.
      execArgv: ['--liftoff-only'],
      sequence: { sequencer: LongestFirst },
      runner: './test/support/set-runner.ts',
      // Limits for tests that hang. They do not measure speed.
      testTimeout: 480_000,
      hookTimeout: 240_000,
      expect: { poll: { timeout: 120_000 } },
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
        { name: 'citus', description: 'Runs on Citus only.' },
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
