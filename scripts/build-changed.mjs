/**
 * Builds the service and the console before `npm start` and before tests, unless their sources and outputs are
 * unchanged since the last build. Arguments select builds by their npm scripts. Without arguments, all are selected.
 * JavaScript instead of TypeScript, because it has to start fast on each version of Node.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

process.chdir(join(import.meta.dirname, '..'));

/** Directory of the build stamps. `npm ci` deletes it, so new packages cause a new build. */
const STAMPS = 'node_modules/.cache/memory-service-build';

const EVERYWHERE = ['package.json', 'package-lock.json', 'tsconfig.json', 'src'];
const parts = [
  { script: 'build:service', sources: [...EVERYWHERE, 'tsconfig.build.json'], output: 'dist' },
  {
    script: 'build:console',
    sources: [
      ...EVERYWHERE,
      ...['index.html', 'package.json', 'public', 'src', 'tsconfig.json', 'vite.config.ts'].map(
        (name) => `console/${name}`,
      ),
    ],
    output: 'console/dist',
  },
];

/** Yields the files at a path or below it, with their contents. */
function* filesAt(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) for (const name of readdirSync(path).sort()) yield* filesAt(join(path, name));
  else if (stats) yield [path, readFileSync(path)];
}

function stampOf({ sources, output }) {
  const hash = createHash('sha256').update(process.version);
  for (const path of [...sources, output]) {
    for (const [name, content] of filesAt(path))
      hash.update(`\0${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function lastStampOf({ script }) {
  try {
    return readFileSync(join(STAMPS, script), 'utf8');
  } catch {
    return undefined;
  }
}

async function build(part) {
  const [code] = await once(spawn('npm', ['run', '--silent', part.script], { stdio: 'inherit' }), 'exit');
  if (code !== 0) process.exit(1);
  mkdirSync(STAMPS, { recursive: true });
  writeFileSync(join(STAMPS, part.script), stampOf(part));
}

const selected = process.argv.slice(2);
const isSelected = ({ script }) => selected.length === 0 || selected.includes(script);
const hasChanged = (part) => lastStampOf(part) !== stampOf(part);
await Promise.all(parts.filter((part) => isSelected(part) && hasChanged(part)).map(build));
