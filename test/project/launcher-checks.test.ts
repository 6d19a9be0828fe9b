import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';

const bin = fileURLToPath(new URL('../../bin', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'launcher-'));
afterAll(() => rmSync(scratch, { recursive: true }));

/** Runs the launcher's version check with another version of Node.js. */
function check(version: string) {
  const script = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); require('${bin}/check-node.cjs')`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  return { status, stderr };
}

it.each(['18.20.8', '20.9.0', '20.20.2', '22.12.0'])(
  'rejects a launch with Node.js %s in a one-line message',
  (version) => {
    expect(check(version)).toStrictEqual({
      status: 1,
      stderr: `memory-service: Node ${version} is too old. Install Node 22.13 or newer (https://nodejs.org), and make it the first in PATH.\n`,
    });
  },
);

it.each(['22.13.0', '24.1.0', '26.0.0'])('accepts a launch with Node.js %s', (version) => {
  expect(check(version)).toStrictEqual({ status: 0, stderr: '' });
});

/** Runs a copy of bin/memory-service. */
function launch(directory: string, env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(join(directory, 'bin/memory-service'), [], {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env },
  });
  return { status, output: stdout + stderr };
}

it('tells the user to run the build if the clone has no build', () => {
  const directory = join(scratch, 'unbuilt');
  cpSync(bin, join(directory, 'bin'), { recursive: true });
  expect(launch(directory)).toStrictEqual({
    status: 1,
    output: 'memory-service: This clone has no build. Run: npm run build\n',
  });
});

it('reads the file in MEMORY_SERVICE_ENV_FILE, but prefers variables from the environment', () => {
  const directory = join(scratch, 'built');
  cpSync(bin, join(directory, 'bin'), { recursive: true });
  mkdirSync(join(directory, 'dist'));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(join(directory, 'dist/main.js'), 'console.log(process.env.SECRETS, process.env.PORT)');
  expect(launch(directory, { MEMORY_SERVICE_ENV_FILE: '.env' }).output).toBe('undefined undefined\n');
  writeFileSync(join(directory, '.env'), 'SECRETS=mask\nPORT=1\n');
  expect(launch(directory, { MEMORY_SERVICE_ENV_FILE: '.env', PORT: '2' }).output).toBe('mask 2\n');
  expect(launch(directory).output).toBe('undefined undefined\n');
});

it('caches compiled code in node_modules, unless NODE_COMPILE_CACHE names another directory', () => {
  const directory = join(scratch, 'compiled');
  cpSync(bin, join(directory, 'bin'), { recursive: true });
  mkdirSync(join(directory, 'dist'));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(join(directory, 'dist/main.js'), '');
  const cache = 'node_modules/.cache/memory-service-code';
  expect(launch(directory, { NODE_COMPILE_CACHE: join(directory, 'other') })).toStrictEqual({
    status: 0,
    output: '',
  });
  expect([existsSync(join(directory, 'other')), existsSync(join(directory, cache))]).toStrictEqual([
    true,
    false,
  ]);
  expect(launch(directory)).toStrictEqual({ status: 0, output: '' });
  expect(existsSync(join(directory, cache))).toBe(true);
});
