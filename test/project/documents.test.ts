import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/core/config.ts';
import { ALL_TABLES } from '../../src/core/database/citus.ts';
import { type Version, versionRecord } from '../../src/core/history/version.ts';
import { MAX_HEADERS, MAX_PIPELINED } from '../../src/core/http/connections.ts';
import { METADATA_PATH } from '../../src/features/mcp/protected-resource.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string) => readFileSync(`${root}/${name}`, 'utf8');

it('docs/security.md lists the limits on a connection', () => {
  const text = read('docs/security.md').replaceAll(/\s+/g, ' ');
  expect(text).toContain(
    `A request may have up to ${MAX_HEADERS.toLocaleString('en-US')} headers, and a connection up to ${MAX_PIPELINED} pending requests.`,
  );
});

it('only CI files name files that a clone does not contain', () => {
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

const tables = ALL_TABLES.filter((table) => table.startsWith('public.')).map((table) =>
  table.replace('public.', ''),
);

it('docs/design.md shows every table in its diagram', () => {
  const [, picture = ''] = /\[\("([^"]+)"\)\]/.exec(read('docs/design.md')) ?? [];
  expect(picture.split(/,(?: |<br>)/).sort()).toStrictEqual(tables.toSorted());
});

it('docs/scaling.md restores every table except the activity and the change log, and the tenants table first', () => {
  const [, list = ''] = /for table in ([^;]+); do/.exec(read('docs/scaling.md')) ?? [];
  const restored = list.split(/[\s\\]+/);
  expect(restored[0]).toBe('tenants');
  const isLeftOut = (name: string) => name === 'activity' || name.startsWith('change_');
  expect(restored.toSorted()).toStrictEqual(tables.filter((name) => !isLeftOut(name)).toSorted());
});

it("docs/history.md lists a version's fields", () => {
  const documented = [...read('docs/history.md').matchAll(/^\| ((?:`[a-z0-9_]+`(?:, )?)+) +\|/gm)].flatMap(
    ([, names = '']) => names.split(', ').map((name) => name.replaceAll('`', '')),
  );
  const fields = Object.keys(versionRecord({ actor: { type: 'anonymous' } } as Version));
  expect(fields.filter((field) => !documented.includes(field))).toStrictEqual([]);
});

it('docs/observability.md lists the metrics in the code with their labels', () => {
  const code = [
    ...read('src/core/http/metrics.ts').matchAll(
      /name: '([a-z_]+)',\n\s+help: [^\n]+(?:\n\s+labelNames: \[([^\]]*)\])?/g,
    ),
  ].map(([, name = '', labels = '']) => `${name} ${labels.replaceAll("'", '`')}`.trim());
  const rows = [
    ...read('docs/observability.md').matchAll(
      /^\| `([a-z_]+)` \| (?:counter|gauge|histogram) \| ([^|]*)\|/gm,
    ),
  ];
  expect(code.length).toBeGreaterThan(5);
  expect(rows.map(([, name = '', labels = '']) => `${name} ${labels}`.trim()).toSorted()).toStrictEqual(
    code.toSorted(),
  );
});

it("docs/observability.md lists the fields in a request's log line", () => {
  const [, line = ''] = /const line = \{(.*?)\n {2}\};/s.exec(read('src/core/http/access-log.ts')) ?? [];
  const fields = [...line.matchAll(/^ {4}(\w+)/gm)].map(([, name]) => name);
  const [, log = ''] = read('docs/observability.md').split('\n## ');
  expect(fields.length).toBeGreaterThan(5);
  expect(fields.filter((name) => !log.includes(`\`${name}\``))).toStrictEqual([]);
});

it('docs/contract.md names every route on the main listener', () => {
  const { paths } = parse(read('openapi.yaml')) as { paths: Record<string, unknown> };
  const contract = read('docs/contract.md');
  const routes = Object.keys(paths).map((path) =>
    path.startsWith('/v1/memory_stores') ? '/v1/memory_stores' : path,
  );
  expect(routes).toEqual(expect.arrayContaining(['/execute', '/search', '/whoami']));
  const missing = [...new Set(routes), '/mcp', METADATA_PATH].filter(
    (route) => !new RegExp(`\`(?:[A-Z]+ )?${route}\``).test(contract),
  );
  expect(missing).toStrictEqual([]);
});

it("shows the default for AUTH_CACHE_SECONDS in the console's texts", () => {
  const { AUTH_CACHE_SECONDS } = loadConfig({});
  for (const page of ['keys/edit-dialog', 'keys/keys-table', 'settings/rename-copy'])
    expect(read(`console/src/pages/${page}.tsx`).replaceAll(/\s+/g, ' ')).toContain(
      `within AUTH_CACHE_SECONDS (${AUTH_CACHE_SECONDS} seconds by default)`,
    );
});

it('bench/RESULTS.md explains every contestant in its table', () => {
  const results = read('bench/RESULTS.md').split('\n## ')[1] ?? '';
  const explained = [...results.matchAll(/^- \*\*(\w+)\*\*: /gm)].map(([, id]) => id);
  const listed = [...results.matchAll(/^\| [^|]* \| ([A-Z]\d?) \| /gm)].map(([, id]) => id);
  expect(listed.length).toBeGreaterThan(5);
  expect(listed.filter((id) => !explained.includes(id))).toStrictEqual([]);
});

it('links from texts on the GDPR to the guides for deleting a user and for erasing a text', () => {
  const user = '](delete-a-user.md)';
  const text = '](incidents.md#erase-a-text)';
  const lines = (page: string) =>
    read(page)
      .split('\n')
      .filter((line) => line.includes('GDPR'))
      .join('\n');
  const [, section = ''] = read('docs/concepts.md').split('\n## Personal data and the GDPR\n');
  expect([section.includes(user), section.includes(text)]).toStrictEqual([true, true]);
  const security = lines('docs/security.md');
  expect([security.includes(user), security.includes(text)]).toStrictEqual([true, true]);
  expect(lines('docs/incidents.md')).toContain(user);
  expect(read('docs/delete-a-user.md')).toMatch(/GDPR.*\]\(incidents\.md#erase-a-text\)/s);
});
