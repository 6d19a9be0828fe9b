/** docs/settings.md and .env.example. After a change in src/core/variables.ts, run `npm run generate`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { envExample, settingsPage } from '../../scripts/settings-reference.ts';
import { configWarnings, loadConfig } from '../../src/core/config.ts';
import { loadBootstrap } from '../../src/core/tenants/initial-data.ts';
import { VARIABLES } from '../../src/core/variables.ts';

const read = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');
const omit = (env: NodeJS.Dict<string>, ...names: string[]) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));

describe('docs/settings.md', () => {
  const page = read('docs/settings.md');
  const facts = (label: string) =>
    [...page.matchAll(/^### ([A-Z_]+)\n(.*?)(?=\n### |\n<!-- end)/gms)].map(([, name = '', text = '']) => ({
      name,
      fact: new RegExp(`^- \\*\\*${label}\\*\\*: (.+)$`, 'm').exec(text)?.[1] ?? '',
    }));

  it("matches the variables' declarations", () => expect(page).toBe(settingsPage(page)));

  it('shows a heading, type, default, values, and example for each variable', () => {
    for (const label of ['Type', 'Default', 'Values', 'Example'])
      expect(
        facts(label)
          .filter(({ fact }) => fact !== '')
          .map(({ name }) => name),
      ).toStrictEqual(VARIABLES);
    expect(page).toContain(
      '\n### MAX_FILE_BYTES\n\nMaximum size of a file, in UTF-8 bytes.\n\n- **Type**: size\n',
    );
  });

  it('explains 0 for each variable that accepts it', () => {
    const accepting = facts('Values').filter(({ fact }) => fact.startsWith('`0`'));
    expect(accepting.length).toBeGreaterThan(20);
    expect(accepting.filter(({ fact }) => !/^`0` \((?!undefined)[a-z' ]+\) /.test(fact))).toStrictEqual([]);
  });

  it("shows the service's defaults", () => {
    const defaults = facts('Default').flatMap(({ name, fact }) => {
      const [, value] = /^`([^`]+)`$/.exec(fact) ?? [];
      return value === undefined || /^OTEL_.*_PROTOCOL$/.test(name) ? [] : [[name, value] as const];
    });
    expect(defaults.length).toBeGreaterThan(50);
    expect(loadConfig(Object.fromEntries(defaults))).toStrictEqual(loadConfig({}));
  });

  it('gives examples that the service accepts and that differ from the defaults', () => {
    const lines = facts('Example').map(({ fact }) => fact.slice(1, -1));
    const examples = parseEnv(lines.join('\n'));
    expect(Object.keys(examples).toSorted()).toStrictEqual(VARIABLES.toSorted());
    const byDefault: Record<string, unknown> = loadConfig({});
    // Each of these variables excludes the other one.
    for (const excluded of ['JWKS_URL', 'JWT_PUBLIC_KEY']) {
      const env = omit(examples, excluded);
      const config = loadConfig(env);
      expect(configWarnings(env, config)).toStrictEqual([]);
      const unchanged = Object.entries(config).filter(
        ([name, value]) => JSON.stringify(value) === JSON.stringify(byDefault[name]),
      );
      expect(unchanged).toStrictEqual([]);
    }
    expect(loadBootstrap({ BOOTSTRAP: examples.BOOTSTRAP })).toMatchObject({ tenants: [{ id: 'acme' }] });
  });
});

describe('.env.example', () => {
  const example = read('.env.example');
  const COMPOSE = ['MEMORY_PORT', 'POSTGRES_PASSWORD'];

  it("matches the variables' declarations", () => expect(example).toBe(envExample()));

  it('lists each variable as a comment below a line that describes it', () => {
    const names = [...example.matchAll(/^# [^\n]+\.\n#([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(names).toStrictEqual([...VARIABLES, ...COMPOSE]);
    expect(example.match(/^[^#\n]/gm)).toBeNull();
    expect(parseEnv(example)).toStrictEqual({});
  });

  it("shows the service's defaults, or an example for a variable without one", () => {
    const env = omit(parseEnv(example.replaceAll(/^#(?=[A-Z_]+=)/gm, '')), ...COMPOSE);
    const withoutDefault = [...example.matchAll(/ Default: .*\n#([A-Z_]+)=/g)].map(([, name = '']) => name);
    expect(withoutDefault).toContain('DATABASE_URL');
    expect(loadConfig(omit(env, ...withoutDefault))).toStrictEqual(loadConfig({}));
    expect(configWarnings(env, loadConfig(omit(env, 'JWKS_URL')))).toStrictEqual([]);
  });

  it('lists variables for Compose only if a Compose file uses them', () => {
    const compose = read('docker-compose.yml') + read('examples/compose/service.yml');
    expect(COMPOSE.filter((name) => !compose.includes(`\${${name}:-`))).toStrictEqual([]);
  });
});
