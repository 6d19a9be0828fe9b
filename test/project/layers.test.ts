import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FEATURES } from '../../src/service/features.ts';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/**
 * Floors in `src/core`, from the bottom. A module imports only packages, its own floor, and the floors before it. A
 * feature's declaration is the top of the core.
 */
const FLOORS = [
  'lib',
  'errors',
  'memory/path.ts',
  'tenants/settings.ts',
  'tenants/pinned-paths.ts',
  'variable-schemas.ts',
  'variables.ts',
  'config.ts',
  'memory',
  'database',
  'tenants',
  'history',
  'files',
  'http',
  'agents',
  'admin',
  'cli',
  'feature.ts',
];

/** Feature modules that `src/service` may import, beside `feature.ts`, because it calls them by name. */
const CALLED_BY_NAME = [
  'memory-stores/store-errors.ts',
  'secrets/load-scanner.ts',
  'secrets/scanner.ts',
  'sign-in/first-key.ts',
  'sign-in/sign-in-routes.ts',
  'telemetry/audit-logs.ts',
  'telemetry/opentelemetry.ts',
];

/** Directories for pages and for tests that belong to no feature. Every other directory has a feature's name. */
const BESIDE_FEATURES = {
  'console/src/pages': ['audit', 'history', 'keys', 'memory', 'overview', 'palette', 'settings', 'tenants'],
  test: [
    ...['admin', 'api', 'citus', 'cli', 'client', 'conformance', 'console', 'database', 'faults', 'files'],
    ...[
      'history',
      'http',
      'kubernetes',
      'mounts',
      'packages',
      'project',
      'proxies',
      'rights',
      'sdks',
      'support',
      'tenants',
    ],
  ],
};
/** Features without a page in the console. */
const WITHOUT_PAGES = [
  'context',
  'feed',
  'mcp',
  'memory-stores',
  'provenance',
  'secrets',
  'sync',
  'telemetry',
];

interface Import {
  file: string;
  /** Path within `src`, or package name. */
  from: string;
}

/** Returns the imports in all modules in a directory. */
function readImports(root: string): Import[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return [...text.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(([, from = '']) => ({
        file,
        from: from.startsWith('.') ? relative(root, join(root, dirname(file), from)) : from,
      }));
    });
}

const imports = readImports(src);
const isLocal = ({ from }: Import) => /\.tsx?$/.test(from);
const local = imports.filter(isLocal);

/** Returns a module's room: `core`, `service`, or the feature's name. */
function findRoom(path: string): string {
  const [room = '', feature = ''] = path.split('/');
  if (room === 'main.ts') return 'service';
  return room === 'features' ? feature : room;
}

/** Returns the number of a floor in the core. */
function findFloor(path: string): number {
  const inside = path.replace(/^core\//, '');
  const own = FLOORS.indexOf(inside);
  return own === -1 ? FLOORS.indexOf(inside.split('/', 1)[0] ?? '') : own;
}

const between = local.filter(({ file, from }) => findRoom(file) !== findRoom(from));

it('assigns every module in src to a room, and every module in the core to a floor', () => {
  expect(imports.length).toBeGreaterThan(200);
  const rooms = ['core', 'service', ...FEATURES.map(({ name }) => name)];
  expect(imports.filter(({ file }) => !rooms.includes(findRoom(file)))).toStrictEqual([]);
  const core = imports.filter(({ file }) => findRoom(file) === 'core');
  expect(core.filter(({ file }) => findFloor(file) === -1)).toStrictEqual([]);
});

it("docs/design.md lists the core's floors and the features in order", () => {
  const design = readFileSync(join(src, '../docs/design.md'), 'utf8');
  const documentedRooms = (room: string) =>
    [...design.matchAll(new RegExp(`^\\| \`src/${room}/([a-z-]+)\``, 'gm'))].map(([, name]) => name);
  expect(documentedRooms('core')).toStrictEqual(FLOORS.filter((floor) => !floor.endsWith('.ts')));
  expect(documentedRooms('features')).toStrictEqual(FEATURES.map(({ name }) => name).sort());
});

it.each([
  ['console/src/pages', WITHOUT_PAGES],
  ['test', []],
] as const)('allows only feature names and listed names for the directories in %s', (directory, without) => {
  const featured = FEATURES.map(({ name }) => name).filter((name) => !without.some((each) => each === name));
  expect(readdirSync(join(src, '..', directory)).sort()).toStrictEqual(
    [...featured, ...BESIDE_FEATURES[directory]].sort(),
  );
});

it('imports neither features nor the service into the core', () => {
  expect(between.filter(({ file }) => findRoom(file) === 'core')).toStrictEqual([]);
});

it('imports the service into no other room', () => {
  expect(between.filter(({ from }) => findRoom(from) === 'service')).toStrictEqual([]);
});

it('imports only the same floor and lower floors within the core', () => {
  const core = local.filter(({ file }) => findRoom(file) === 'core');
  expect(core.filter(({ file, from }) => findFloor(from) > findFloor(file))).toStrictEqual([]);
});

it.each(FEATURES.map(({ name, uses }) => ({ name, uses })))(
  'imports exactly the features that $name declares to use',
  ({ name, uses }) => {
    const used = between.filter(({ file, from }) => findRoom(file) === name && findRoom(from) !== 'core');
    expect([...new Set(used.map(({ from }) => findRoom(from)))].sort()).toStrictEqual([...uses].sort());
  },
);

it('imports only feature declarations and listed modules into the service', () => {
  const taken = between.filter(({ file, from }) => findRoom(file) === 'service' && findRoom(from) !== 'core');
  const beside = taken.filter(({ from }) => !from.endsWith('/feature.ts')).map(({ from }) => from);
  expect([...new Set(beside)].sort()).toStrictEqual(CALLED_BY_NAME.map((path) => `features/${path}`));
});

it("docs/design.md lists each feature's importers", () => {
  const design = readFileSync(join(src, '../docs/design.md'), 'utf8');
  const [, section = ''] = design.split('### Taking a feature out');
  const documented = [...section.matchAll(/^\| ([a-z][a-z-]+) \| ?(.*?) ?\| .* \|$/gm)].map(
    ([, name, importers = '']) => [name, [...importers.matchAll(/`([^`]+)`/g)].map(([, path]) => path)],
  );
  const findImporters = (name: string) =>
    between.filter(({ from }) => findRoom(from) === name).map(({ file }) => file);
  const list = 'service/features.ts';
  const actual = FEATURES.map(({ name }) => [
    name,
    [...new Set(findImporters(name))].filter((file) => file !== list).sort(),
  ]);
  expect(documented).toStrictEqual(actual.sort());
});

it.each(['src', 'console/src'])('finds no import cycle between modules in %s', (root) => {
  const importsByFile = new Map<string, string[]>();
  for (const { file, from } of readImports(join(src, '..', root)).filter(isLocal))
    importsByFile.set(file, [...(importsByFile.get(file) ?? []), from]);
  const circles: string[][] = [];
  const done = new Set<string>();
  const follow = (file: string, above: string[]) => {
    if (above.includes(file)) circles.push([...above.slice(above.indexOf(file)), file]);
    if (done.has(file)) return;
    done.add(file);
    for (const from of importsByFile.get(file) ?? []) follow(from, [...above, file]);
  };
  for (const file of importsByFile.keys()) follow(file, []);
  expect(circles).toStrictEqual([]);
});

describe('the packages that a room imports', () => {
  const isInCore = (floors: string[]) => (file: string) =>
    findRoom(file) === 'core' && floors.includes(file.split('/')[1] ?? '');
  it.each([
    [
      'the domain imports only zod and a timer to yield',
      isInCore(['memory']),
      /^(?!zod$|node:timers\/promises$)/,
    ],
    [
      'only the HTTP floors of the core import Fastify',
      isInCore(FLOORS.slice(0, FLOORS.indexOf('http'))),
      /^@?fastify/,
    ],
    [
      'only the database imports a database driver',
      (file: string) => !file.startsWith('core/database/'),
      /^(pg|drizzle|@electric)/,
    ],
  ])('limits the packages that a room imports: %s', (_, isInside, forbidden) => {
    const own = imports.filter((each) => isInside(each.file) && !isLocal(each));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter(({ from }) => forbidden.test(from))).toStrictEqual([]);
  });
});

it('only the process start and the command line throw errors for the terminal', () => {
  const throwers = new Set(
    imports
      .filter(({ file, from }) => {
        if (from !== 'core/errors/errors.ts') return false;
        return /import \{[^}]*\bOperatorError\b[^}]*\} from/.test(readFileSync(join(src, file), 'utf8'));
      })
      .map(({ file }) => file)
      .filter((file) => !/^(core|features\/[a-z-]+)\/(cli|database)\b/.test(file)),
  );
  expect([...throwers].sort()).toStrictEqual([
    'service/local-caller.ts',
    'service/program.ts',
    'service/server.ts',
  ]);
});

it('only telemetry imports OpenTelemetry, except for one type in the database', () => {
  const opentelemetry = imports.filter(({ from }) => from.startsWith('@opentelemetry'));
  const [elsewhere, inside] = [false, true].map((isInside) =>
    opentelemetry.filter(({ file }) => file.startsWith('features/telemetry/') === isInside),
  );
  expect(elsewhere).toStrictEqual([{ file: 'core/database/query.ts', from: '@opentelemetry/api' }]);
  expect(inside?.length).toBeGreaterThan(5);
});

it('imports no client library into src', () => {
  const isOutside = ({ from }: Import) => from.startsWith('..') || from.startsWith('memory-service-client');
  expect(imports.filter(isOutside)).toStrictEqual([]);
});

it("imports no feature except MCP into the MCP server's package", () => {
  const client = fileURLToPath(new URL('../../clients/mcp/src', import.meta.url));
  const taken = readdirSync(client).flatMap((file) =>
    [...readFileSync(join(client, file), 'utf8').matchAll(/from '(?:\.\.\/)+src\/([^']+)'/g)].map(
      ([, from = '']) => from,
    ),
  );
  const features = taken.filter((from) => from.startsWith('features/'));
  expect(features.length).toBeGreaterThan(3);
  expect(features.filter((from) => !from.startsWith('features/mcp/'))).toStrictEqual([]);
});

it('loads no server code for a command, so that the command starts fast', () => {
  const loaded = new Set(['main.ts']);
  // Iterating over a set includes items that are added meanwhile.
  for (const file of loaded) {
    if (!file.endsWith('.ts')) continue;
    const text = readFileSync(join(src, file), 'utf8');
    for (const [, from = ''] of text.matchAll(/^(?:import|export) (?!type )(?:[^;']*? from )?'([^']+)';/gm)) {
      loaded.add(from.startsWith('.') ? relative(src, join(src, dirname(file), from)) : from);
    }
  }
  expect(loaded).toContain('service/program.ts');
  expect(loaded).toContain('commander');
  const slow =
    /^(service\/(server|agents-app|admin-app|local-caller)\.ts|core\/http|@?fastify|pino|prom-client|pg|drizzle|@electric|jose)/;
  expect([...loaded].filter((each) => slow.test(each))).toStrictEqual([]);
});
