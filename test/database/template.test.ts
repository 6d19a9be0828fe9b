/** The template for an embedded database, which the build makes, and a new data directory copies. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { functionsScript, MIGRATIONS_DIRECTORY, schemaState } from '../../src/core/database/migrate.ts';
import { openPglite } from '../../src/core/database/pglite.ts';
import { migrateEngine, PgliteEngine } from '../../src/core/database/pglite-engine.ts';
import { copyTemplate, TEMPLATE_DIRECTORY } from '../../src/core/database/template.ts';
import { post, startServer } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';

const newDirectory = (prefix: string) => mkdtemp(join(inject('scratch'), `${prefix}-`));

/** Definitions of everything that a schema contains, the settings, and the rows, which only migrations have written. */
const CONTENTS = [
  `SELECT c.oid::regclass::text, c.relkind, c.reloptions, c.relpersistence, pg_get_viewdef(c.oid) AS view
   FROM pg_class AS c ORDER BY 1`,
  `SELECT attrelid::regclass::text, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attstorage,
     attcompression, attstattarget, attoptions, pg_get_expr(adbin, adrelid) AS value
   FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum ORDER BY 1, 2`,
  'SELECT indexrelid::regclass::text, indisvalid, pg_get_indexdef(indexrelid) FROM pg_index ORDER BY 1',
  'SELECT conrelid::regclass::text, conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1, 2',
  "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE prokind = 'f' ORDER BY 1",
  'SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger ORDER BY 1, 2',
  `SELECT stxname, pg_get_statisticsobjdef(oid), stxstattarget FROM pg_statistic_ext ORDER BY 1`,
  'SELECT extname, extversion FROM pg_extension ORDER BY 1',
  'SELECT nspname, nspacl::text FROM pg_namespace ORDER BY 1',
  'SELECT datname, datcollate, datctype, datlocprovider, encoding, datallowconn FROM pg_database ORDER BY 1',
  'SELECT rolname, rolsuper, rolcanlogin FROM pg_roles ORDER BY 1',
  'SELECT setdatabase, setrole, setconfig FROM pg_db_role_setting ORDER BY 1, 2',
  'SELECT name, setting FROM pg_file_settings ORDER BY 1',
  // PL/pgSQL adds its settings when a session first uses it.
  `SELECT name, setting FROM pg_settings
   WHERE name NOT LIKE '%directory' AND name NOT LIKE '%_file' AND name NOT LIKE 'plpgsql.%' ORDER BY 1`,
  'SELECT id, hash, created_at FROM drizzle.__drizzle_migrations ORDER BY 1',
  `SELECT t.name, query_to_xml('SELECT count(*) FROM ' || t.name, false, true, '')::text
   FROM (SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace) AS t
   ORDER BY 1`,
];

async function readContents(engine: PgliteEngine): Promise<unknown[]> {
  const contents = [];
  for (const query of CONTENTS) contents.push((await engine.query(query)).rows);
  await engine.close();
  return contents;
}

const open = (directory: string) => openPglite(directory, 1, { stopped: () => {}, readOnly: () => {} });

it('copies a database that equals the one that the migrations create', { tags: 'long' }, async () => {
  const created = new PgliteEngine(await newDirectory('created'), () => {});
  await migrateEngine(created, MIGRATIONS_DIRECTORY, functionsScript());
  const directory = await newDirectory('copied');
  expect(await copyTemplate(directory)).toBe(true);
  const copied = await readContents(new PgliteEngine(directory, () => {}));
  const expected = await readContents(created);
  for (const [i, rows] of expected.entries()) expect(copied[i]).toStrictEqual(rows);
});

it('copies the template to a new data directory, so that it needs no migration', async () => {
  const directory = await newDirectory('new');
  const database = await open(directory);
  expect(await schemaState(database)).toBe('current');
  await database.close();
  expect((await readdir(directory)).sort()).toStrictEqual(['memory-service.lock', 'pglite']);
});

it('does not replace existing files in a data directory with the template', async () => {
  const directory = join(await newDirectory('used'), 'pglite');
  await mkdir(directory);
  await writeFile(join(directory, 'PG_VERSION'), '18\n');
  expect(await copyTemplate(directory)).toBe(false);
  expect(await readdir(join(directory, '..'))).toStrictEqual(['pglite']);
  expect(await readdir(directory)).toStrictEqual(['PG_VERSION']);
  expect(await readFile(join(directory, 'PG_VERSION'), 'utf8')).toBe('18\n');
});

it('ignores a template if it is damaged or was made from another schema', async () => {
  const templates = join(await newDirectory('templates'), 'template');
  const parent = await newDirectory('not-copied');
  await cp(TEMPLATE_DIRECTORY, templates, { recursive: true });
  const [name = ''] = await readdir(templates);
  await truncate(join(templates, name), 1_000_000);
  expect(await copyTemplate(join(parent, 'pglite'), templates)).toBe(false);
  await cp(join(TEMPLATE_DIRECTORY, name), join(templates, `0${name}`));
  await truncate(join(templates, name), 0);
  expect(await copyTemplate(join(parent, 'pglite'), templates)).toBe(false);
  expect(await readdir(parent)).toStrictEqual([]);
});

/** Kills the process with the 500th of about a thousand files. */
const KILLED_COPY = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const { writeFileSync } = fs;
let files = 0;
fs.writeFileSync = (...args) => (++files === 500 ? process.kill(process.pid, 'SIGKILL') : writeFileSync(...args));
syncBuiltinESMExports();
const { copyTemplate } = await import('./dist/core/database/template.js');
await copyTemplate(process.argv[1]);`;

it('starts after the process that copied the template was killed', { tags: 'long' }, async () => {
  const directory = await newDirectory('killed');
  const args = ['--input-type=module', '--eval', KILLED_COPY, join(directory, 'pglite')];
  await expect(promisify(execFile)(process.execPath, args)).rejects.toMatchObject({ signal: 'SIGKILL' });
  expect(await readdir(directory)).toStrictEqual(['pglite.new']);

  const server = await startServer({ DATA_DIR: directory });
  expect(await post(server.url, cmd.create('/memories/a.md', 'text'))).toMatchObject({ status: 200 });
  server.child.kill('SIGTERM');
  expect(await server.exit).toBe(0);
  expect((await readdir(directory)).sort()).toStrictEqual(['memory-service.lock', 'pglite']);
});
