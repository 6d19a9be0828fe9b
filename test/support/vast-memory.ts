/** A memory with 100,000 files, each with three superseded versions. Commands would be too slow to create it. */

export const VAST_FILES = 100_000;
const DIRECTORIES = 1000;
/** Superseded versions per file. */
const VERSIONS = 3;

/** All files in one directory, and in many. `path` is an SQL expression for the path of file number `i`. */
export const LAYOUTS = {
  flat: { path: "'/memories/all/file-' || lpad(i::text, 6, '0') || '.md'", parent: '/memories/all' },
  nested: {
    path: `'/memories/dir-' || lpad((i % ${DIRECTORIES})::text, 4, '0') || '/file-' || lpad(i::text, 6, '0') || '.md'`,
    parent: '/memories/dir-0500',
  },
};

const ago = (n: string) => `now() - ${n} * interval '36 hours'`;

/** Fills an empty tenant with a history for the last ten days. */
export async function fillVastMemory(
  run: (sql: string) => Promise<unknown>,
  tenant: string,
  layout: keyof typeof LAYOUTS,
): Promise<void> {
  const { path } = LAYOUTS[layout];
  await run(`INSERT INTO entries (tenant_id, path, kind, changed_at)
    VALUES ('${tenant}', '/memories', 'dir', now() - interval '2 days') ON CONFLICT DO NOTHING`);
  await run(`INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
    SELECT DISTINCT '${tenant}', memory_parent(${path}), '/memories', 'dir', now() - interval '9 days'
    FROM generate_series(0, ${VAST_FILES - 1}) AS i`);
  await run(`INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
    SELECT '${tenant}', path, memory_parent(path), 'file', repeat('text ', 60),
      memory_version_id(memory_id_prefix(now() - interval '1 day'), gen_random_uuid()), memory_id, 'modified', now() - interval '1 day'
    FROM (SELECT ${path} AS path, gen_random_uuid() AS memory_id FROM generate_series(0, ${VAST_FILES - 1}) AS i) AS f`);
  await run(`INSERT INTO versions (
      tenant_id, id, memory_id, operation, path, bytes, size_bytes, content, content_sha256, created_at, superseded_at
    )
    SELECT tenant_id, memory_version_id(memory_id_prefix(${ago('n')}), gen_random_uuid()), memory_id, 'modified', path, 500, 300,
      repeat('old. ', 60), memory_sha256('x'), ${ago('n')}, CASE n WHEN 1 THEN now() - interval '1 day' ELSE ${ago('(n - 1)')} END
    FROM entries, generate_series(1, ${VERSIONS}) AS n WHERE tenant_id = '${tenant}' AND kind = 'file'`);
  await run(`UPDATE tenants SET file_count = ${VAST_FILES}, byte_count = ${VAST_FILES} * 300, last_change_at = now() - interval '1 day',
    created_at = now() - interval '10 days', history_since = now() - interval '10 days' WHERE id = '${tenant}'`);
  await run(`SELECT memory_bind_root('${tenant}')`);
}
