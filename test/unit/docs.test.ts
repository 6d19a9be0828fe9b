import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { MAX_HEADERS, MAX_PIPELINED } from '../../src/http/connections.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string) => readFileSync(`${root}/${name}`, 'utf8');

/** Rows such as "| `PORT` | `8080` | …". Defaults that depend on other variables are not literals, so they have no such row. */
const DEFAULT = /^\| `([A-Z][A-Z0-9_]+)` +\| `([^`|]+)` +\|/gm;
/** The default of `AUTH` depends on the address; the others belong to the SDK of OpenTelemetry. */
const ELSEWHERE = /^(AUTH|OTEL_.*)$/;

it('docs/configuration.md has the defaults of the code', () => {
  const config: Record<string, unknown> = { ...loadConfig({}) };
  const documented = [...read('docs/configuration.md').matchAll(DEFAULT)]
    .map(([, name = '', value = '']) => [name, value] as const)
    .filter(([name]) => !ELSEWHERE.test(name));
  expect(documented.length).toBeGreaterThan(30);
  const meant = (name: string, value: string) =>
    (loadConfig({ [name]: value }) as Record<string, unknown>)[name];
  expect(documented.map(([name, value]) => [name, meant(name, value)])).toStrictEqual(
    documented.map(([name]) => [name, config[name]]),
  );
});

it('docs/security.md has the limits of a connection', () => {
  const text = read('docs/security.md').replaceAll(/\s+/g, ' ');
  expect(text).toContain(
    `A request may have up to ${MAX_HEADERS.toLocaleString('en-US')} headers, and a connection up to ${MAX_PIPELINED} pending requests.`,
  );
});

it('no file but those of CI names what a clone does not have', () => {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
  const texts = files.filter(
    (name) => !name.startsWith('.ci/') && /\.(ts|tsx|js|mjs|sh|py|md|ya?ml|json)$/.test(name),
  );
  expect(texts.length).toBeGreaterThan(400);
  const outside = ['..', 'shared', ''].join('/');
  expect(
    texts.filter((name) =>
      new RegExp(`(?<![\\w/.])(\\.\\./)*${outside.replaceAll('.', '\\.')}`).test(read(name)),
    ),
  ).toStrictEqual([]);
});

it('docs/design.md has every folder of src in its table', () => {
  const design = read('docs/design.md');
  const folders = readdirSync(`${root}/src`, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.length).toBeGreaterThan(15);
  // The words of errors are told about under Faults.
  const missing = folders.map(({ name }) => name).filter((name) => !design.includes(`src/${name}`));
  expect(missing).toStrictEqual([]);
});
