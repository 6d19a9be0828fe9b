/**
 * Builds the service, the console, and the embedded database's template, unless their sources and outputs are unchanged
 * since the last build. `npm start`, `npm run build`, `npm pack`, the image, and the tests use this script. Arguments
 * select parts. Without arguments, all are selected. JavaScript instead of TypeScript, because it has to start fast on
 * each Node version.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

process.chdir(join(import.meta.dirname, '..'));

/** Directory for the build stamps. `npm ci` deletes it, so new packages cause a new build. */
const STAMPS = 'node_modules/.cache/memory-service-build';

const EVERYWHERE = ['package.json', 'package-lock.json', 'scripts/build.mjs', 'tsconfig.json', 'src'];
const PARTS = {
  service: { sources: EVERYWHERE, output: 'dist', build: transpile },
  console: {
    sources: [
      ...EVERYWHERE,
      ...['index.html', 'package.json', 'public', 'src', 'tsconfig.json', 'vite.config.ts'].map(
        (name) => `console/${name}`,
      ),
    ],
    output: 'console/dist',
    build: () => run('node_modules/.bin/vite', ['build', '--logLevel', 'warn'], 'console'),
  },
  template: {
    sources: ['package-lock.json', 'scripts/build.mjs', 'migrations', 'src/core/database'],
    output: 'template',
    build: writeTemplate,
  },
};

/** Removes the types from each file in `src`. `npm run types` checks them. */
async function transpile() {
  const { transformSync } = await import('rolldown/utils');
  rmSync('dist', { recursive: true, force: true });
  for (const [path, content] of filesAt('src')) {
    if (!path.endsWith('.ts') || path.endsWith('.test.ts')) continue;
    const { code, errors } = transformSync(path, content.toString(), {
      target: 'node22.13',
      tsconfig: false,
      // As `verbatimModuleSyntax` and `rewriteRelativeImportExtensions` in tsconfig.json.
      typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: true },
    });
    if (errors.length > 0) throw new Error(errors.map(({ message }) => `${path}: ${message}`).join('\n'));
    const output = path.replace(/^src/, 'dist').replace(/\.ts$/, '.js');
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, code);
  }
}

/** The built service writes the template. Without the embedded database, an optional package, there is none. */
async function writeTemplate() {
  if (!existsSync('node_modules/@electric-sql/pglite')) return;
  await buildOnce('service');
  const code = `import('./dist/core/database/write-template.js').then(({ writeTemplate }) => writeTemplate())`;
  // Optimizing WebAssembly takes longer than it saves while PGlite creates and migrates a database.
  await run(process.execPath, ['--liftoff-only', '--eval', code]);
}

async function run(command, args, cwd = '.') {
  const [code] = await once(spawn(command, args, { cwd, stdio: 'inherit' }), 'exit');
  if (code !== 0) process.exit(1);
}

/** Yields the files at a path or below it, with their contents. */
function* filesAt(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) for (const name of readdirSync(path).sort()) yield* filesAt(join(path, name));
  else if (stats) yield [path, readFileSync(path)];
}

function currentStamp({ sources, output }) {
  const hash = createHash('sha256').update(process.version);
  for (const path of [...sources, output]) {
    for (const [name, content] of filesAt(path))
      hash.update(`\0${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function lastStamp(name) {
  try {
    return readFileSync(join(STAMPS, name), 'utf8');
  } catch {
    return undefined;
  }
}

async function buildIfChanged(name) {
  const part = PARTS[name];
  if (lastStamp(name) === currentStamp(part)) return;
  await part.build();
  mkdirSync(STAMPS, { recursive: true });
  writeFileSync(join(STAMPS, name), currentStamp(part));
}

const builds = {};

/** Builds a part once. Other parts may need it. */
function buildOnce(name) {
  builds[name] ??= buildIfChanged(name);
  return builds[name];
}

const selected = process.argv.slice(2);
await Promise.all((selected.length > 0 ? selected : Object.keys(PARTS)).map(buildOnce));
