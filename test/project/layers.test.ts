import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** Directories and files of `src`. Each imports only packages, itself, and the layers before it. */
const LAYERS = [
  'lib',
  'errors',
  'tenants/settings.ts',
  'config.ts',
  'memory',
  'database',
  'tenants',
  'history',
  'files',
  'drafts',
  'archive',
  'incidents',
  'http',
  'agents',
  'admin',
  'cli',
  'local-caller.ts',
  'app.ts',
  'server.ts',
  'main.ts',
];

interface Import {
  file: string;
  /** Path within `src`, or name of a package. */
  from: string;
}

const imports: Import[] = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .flatMap((file) => {
    const text = readFileSync(join(src, file), 'utf8');
    return [...text.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(([, from = '']) => ({
      file,
      from: from.startsWith('.') ? relative(src, join(src, dirname(file), from)) : from,
    }));
  });

const layerOf = (path: string) => {
  const own = LAYERS.indexOf(path);
  return own === -1 ? LAYERS.indexOf(path.split('/', 1)[0] ?? '') : own;
};
const isLocal = ({ from }: Import) => from.endsWith('.ts');

it('lists every module of src in a layer', () => {
  expect(imports.length).toBeGreaterThan(200);
  expect(imports.filter(({ file }) => layerOf(file) === -1)).toStrictEqual([]);
});

it('docs/design.md lists every directory of src in this order', () => {
  const design = readFileSync(join(src, '../docs/design.md'), 'utf8');
  const rows = [...design.matchAll(/^\| (`src\/[^|]+) \|/gm)].map(([, names = '']) => names);
  const documented = rows.flatMap((names) =>
    [...names.matchAll(/`src\/([a-z-]+)`/g)].map(([, name]) => name),
  );
  expect(documented).toStrictEqual(LAYERS.filter((layer) => !layer.endsWith('.ts')));
});

it('imports modules only from lower layers', () => {
  expect(imports.filter((each) => isLocal(each) && layerOf(each.from) > layerOf(each.file))).toStrictEqual(
    [],
  );
});

it('finds no import cycle of modules', () => {
  const importsOf = new Map<string, string[]>();
  for (const { file, from } of imports.filter(isLocal)) {
    importsOf.set(file, [...(importsOf.get(file) ?? []), from]);
  }
  const circles: string[][] = [];
  const done = new Set<string>();
  const follow = (file: string, above: string[]) => {
    if (above.includes(file)) circles.push([...above.slice(above.indexOf(file)), file]);
    if (done.has(file)) return;
    done.add(file);
    for (const from of importsOf.get(file) ?? []) follow(from, [...above, file]);
  };
  for (const file of importsOf.keys()) follow(file, []);
  expect(circles).toStrictEqual([]);
});

describe('the packages of a layer', () => {
  it.each([
    ['the domain imports only zod and a timer to yield', ['memory'], /^(?!zod$|node:timers\/promises$)/],
    ['only the HTTP layers import Fastify', LAYERS.slice(0, LAYERS.indexOf('http')), /^@?fastify/],
    [
      'only src/core/database imports a database driver',
      LAYERS.filter((layer) => layer !== 'database'),
      /^(pg|drizzle|@electric)/,
    ],
  ])('limits the packages of a layer: %s', (_, layers, forbidden) => {
    const own = imports.filter((each) => layers.includes(each.file.split('/', 1)[0] ?? '') && !isLocal(each));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter(({ from }) => forbidden.test(from))).toStrictEqual([]);
  });
});

it('only the process start and the command line throw errors for the terminal', () => {
  const throwers = new Set(
    imports
      .filter(({ file, from }) => {
        if (from !== 'errors/errors.ts') return false;
        return /import \{[^}]*\bOperatorError\b[^}]*\} from/.test(readFileSync(join(src, file), 'utf8'));
      })
      .map(({ file }) => file.split('/', 1)[0]),
  );
  expect([...throwers].sort()).toStrictEqual(['cli', 'database', 'local-caller.ts', 'server.ts']);
});

const EXPORTS = new Set(['http/opentelemetry.ts', 'http/otlp.ts', 'http/audit-logs.ts']);

it('only the exports to a collector import OpenTelemetry, except for a type', () => {
  const opentelemetry = imports.filter(({ from }) => from.startsWith('@opentelemetry'));
  const [elsewhere, inside] = [false, true].map((isInside) =>
    opentelemetry.filter(({ file }) => EXPORTS.has(file) === isInside),
  );
  expect(elsewhere).toStrictEqual([{ file: 'database/query.ts', from: '@opentelemetry/api' }]);
  expect(inside?.length).toBeGreaterThan(5);
});

it('imports no client in the service', () => {
  const outside = ({ from }: Import) => from.startsWith('..') || from.startsWith('memory-service-client');
  expect(imports.filter(outside)).toStrictEqual([]);
});

it('loads no server code for a command, so that it starts fast', () => {
  const loaded = new Set(['main.ts']);
  // Iterating over a set includes items that are added meanwhile.
  for (const file of loaded) {
    if (!file.endsWith('.ts')) continue;
    const text = readFileSync(join(src, file), 'utf8');
    for (const [, from = ''] of text.matchAll(/^(?:import|export) (?!type )(?:[^;']*? from )?'([^']+)';/gm)) {
      loaded.add(from.startsWith('.') ? relative(src, join(src, dirname(file), from)) : from);
    }
  }
  expect(loaded).toContain('cli/program.ts');
  expect(loaded).toContain('commander');
  const slow = /^(server\.ts|app\.ts|http|@?fastify|pino|prom-client|pg|drizzle|@electric|jose)/;
  expect([...loaded].filter((each) => slow.test(each))).toStrictEqual([]);
});
