import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Database } from '../../src/core/database/database.ts';
import { parseQuery } from '../../src/core/database/query.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Each tenant has directories d0 to d4 with 20 files each. Each directory's first file is large. */
export const DIRECTORIES = 5;
export const FILES_PER_DIRECTORY = 20;
export const SMALL_BYTES = 1024;
export const LARGE_BYTES = 10_240;

const LARGE_PER_TENANT = DIRECTORIES;
export const FILES_PER_TENANT = DIRECTORIES * FILES_PER_DIRECTORY;
export const BYTES_PER_TENANT =
  LARGE_PER_TENANT * LARGE_BYTES + (FILES_PER_TENANT - LARGE_PER_TENANT) * SMALL_BYTES;

export const tenantName = (i: number) => `t${i}`;
export const directoryPath = (i: number) => `/memories/d${i}`;
export const filePath = (directory: number, file: number) => `${directoryPath(directory)}/f${file}.md`;

/** This project's documentation. Its text resembles memory texts, and compresses about as well. */
const PROSE = readdirSync(`${root}/docs`)
  .filter((name) => name.endsWith('.md'))
  .sort()
  .map((name) => readFileSync(`${root}/docs/${name}`, 'utf8'))
  .join('\n')
  .replaceAll(/[^\n -~]|log:/g, '?');

/** Returns ASCII notes with the exact size, with one line `log:` that edits replace. */
export function text(bytes: number): string {
  const head = '# Notes\nlog:\n';
  const length = bytes - head.length;
  return head + PROSE.repeat(Math.ceil(length / PROSE.length)).slice(0, length);
}

/** Fills a migrated, empty database with the given number of tenants. */
export async function seed(database: Database, tenants: number): Promise<void> {
  const small = text(SMALL_BYTES);
  const large = text(LARGE_BYTES);
  const run = (name: string, sql: string, params: Record<string, string | number>) =>
    database.query(parseQuery(`seed_${name}`, sql), params);
  const all = `generate_series(0, $tenants::integer - 1) AS t (i)`;
  await run(
    'tenants',
    `INSERT INTO tenants (id, file_count, byte_count) SELECT 't' || i, $files::bigint, $bytes::bigint FROM ${all}`,
    { tenants, files: FILES_PER_TENANT, bytes: BYTES_PER_TENANT },
  );
  await run(
    'roots',
    `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at) SELECT 't' || i, '/memories', NULL, 'dir', now() FROM ${all}`,
    { tenants },
  );
  await run('bound_roots', `SELECT memory_bind_root('t' || i) FROM ${all}`, { tenants });
  await run(
    'directories',
    `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
     SELECT 't' || i, '/memories/d' || d, '/memories', 'dir', now() FROM ${all}, generate_series(0, $directories::integer - 1) AS d`,
    { tenants, directories: DIRECTORIES },
  );
  await run(
    'files',
    `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
     SELECT 't' || i, '/memories/d' || d || '/f' || f || '.md', '/memories/d' || d, 'file',
            CASE WHEN f = 0 THEN $large::text ELSE $small::text END, memory_version_id(memory_id_prefix(now()), gen_random_uuid()), gen_random_uuid(), 'created', now()
     FROM ${all}, generate_series(0, $directories::integer - 1) AS d, generate_series(0, $files::integer - 1) AS f`,
    { tenants, directories: DIRECTORIES, files: FILES_PER_DIRECTORY, large, small },
  );
  await run('vacuum', 'VACUUM ANALYZE', {});
}

/** Settings for a service without limits on tenants. */
export const UNLIMITED = {
  MAX_TENANT_FILES: '0',
  MAX_TENANT_BYTES: '0',
  MAX_TENANT_HISTORY_BYTES: '0',
  MAX_TENANT_STORED_RESULTS: '0',
};
