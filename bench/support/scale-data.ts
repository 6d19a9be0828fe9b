import { text } from './data.ts';
import type { BenchDatabase } from './postgres.ts';

const PER_DIRECTORY = 100;

/**
 * Fills an empty, migrated database. Tenants t0, t1, … have one directory with 100 files (1 KB each). Tenant `large`
 * has a tenth of all files. Tenant `moved` has the directories `m<files>-<copy>` to move and delete.
 */
export async function seedLarge(
  { query }: BenchDatabase,
  options: { files: number; large: number; moved: readonly number[]; copies: number },
): Promise<void> {
  const { files, large, moved, copies } = options;
  // Skips foreign key checks, if the role is allowed to.
  await query('SET session_replication_role = replica').catch(() => {});
  const tenants = Math.floor((files - large) / PER_DIRECTORY);
  const content = text(1024);
  // Tenants have no limits, because quotas are not measured.
  await query(`INSERT INTO tenants (id, max_files, max_bytes)
    SELECT 't' || i, 0, 0 FROM generate_series(0, ${tenants - 1}) AS i
    UNION ALL VALUES ('large', 0, 0), ('moved', 0, 0)`);
  await query(
    `INSERT INTO entries (tenant_id, path, kind, changed_at) SELECT id, '/memories', 'dir', now() FROM tenants`,
  );
  await query('SELECT memory_bind_root(id) FROM tenants');
  /** Creates directories `directory` || d with 100 files each for the tenants that a query returns. */
  const fill = async (owners: string, parent: string, directory: string, directories: number) => {
    const all = `(${owners}) AS o (id), generate_series(0, ${directories - 1}) AS d`;
    await query(`INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
      SELECT o.id, '${directory}' || d, '${parent}', 'dir', now() FROM ${all}`);
    await query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
       SELECT o.id, '${directory}' || d || '/f' || f || '.md', '${directory}' || d, 'file', $1::text, memory_version_id(memory_id_prefix(now()), gen_random_uuid()), gen_random_uuid(), 'created', now()
       FROM ${all}, generate_series(0, ${PER_DIRECTORY - 1}) AS f`,
      [content],
    );
  };
  await fill(`SELECT id FROM tenants WHERE id LIKE 't%'`, '/memories', '/memories/d', 1);
  await fill(`VALUES ('large')`, '/memories', '/memories/d', Math.ceil(large / PER_DIRECTORY));
  for (const size of moved) {
    for (let copy = 0; copy < copies; copy++) {
      const top = `/memories/m${size}-${copy}`;
      await query(
        `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at) VALUES ('moved', '${top}', '/memories', 'dir', now())`,
      );
      await fill(`VALUES ('moved')`, top, `${top}/d`, Math.ceil(size / PER_DIRECTORY));
    }
  }
  await query(`UPDATE tenants AS t SET file_count = used.files, byte_count = used.bytes
    FROM (SELECT tenant_id, count(*) AS files, sum(size_bytes) AS bytes FROM entries WHERE kind = 'file' GROUP BY 1) AS used
    WHERE used.tenant_id = t.id`);
  // One superseded version for each file in a tenth of the tenants.
  await query(`INSERT INTO versions (
      tenant_id, id, memory_id, operation, path, created_at, superseded_at, size_bytes, content_sha256, content, bytes
    )
    SELECT tenant_id, memory_version_id(memory_id_prefix(now() - interval '1 day'), gen_random_uuid()), memory_id, 'created', path,
      now() - interval '1 day', changed_at, 6, memory_sha256('before'), 'before', memory_version_bytes(tenant_id, path, origin, 'before')
    FROM entries WHERE kind = 'file' AND tenant_id LIKE 't%7'`);
  await query(`UPDATE tenants AS t SET history_versions = kept.versions, history_bytes = kept.bytes
    FROM (SELECT tenant_id, count(*) AS versions, sum(bytes) AS bytes FROM versions GROUP BY 1) AS kept WHERE kept.tenant_id = t.id`);
  await query('RESET session_replication_role');
  await query('VACUUM ANALYZE');
}
