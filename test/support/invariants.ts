import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Tree } from './model.ts';
import type { Service } from './test-service.ts';

/** Database invariants, each as a query that finds violations. */
const VIOLATIONS = {
  'an entry whose parent is missing or a file': `
    SELECT e.tenant_id, e.path FROM entries e
    LEFT JOIN entries p ON p.tenant_id = e.tenant_id AND p.path = e.parent_path
    WHERE e.path <> '/memories' AND (p.path IS NULL OR p.kind::text <> 'dir')`,
  'a parent_path that is not the parent of the path': `
    SELECT tenant_id, path, parent_path FROM entries
    WHERE parent_path IS DISTINCT FROM CASE WHEN path = '/memories' THEN NULL
      ELSE left(path, length(path) - position('/' in reverse(path))) END`,
  'a root that is a file': `
    SELECT tenant_id FROM entries WHERE path = '/memories' AND kind::text <> 'dir'`,
  'a root whose creation time is not that of its tenant': `
    SELECT r.tenant_id, r.created_at, t.created_at FROM entries r JOIN tenants t ON t.id = r.tenant_id
    WHERE r.path = '/memories' AND r.created_at <> t.created_at`,
  'a file with children': `
    SELECT f.tenant_id, f.path, c.path AS child FROM entries f
    JOIN entries c ON c.tenant_id = f.tenant_id AND c.parent_path = f.path WHERE f.kind::text = 'file'`,
  'a file whose size is not its content’s, or a directory with content': `
    SELECT tenant_id, path, size_bytes FROM entries
    WHERE (kind::text = 'file' AND size_bytes IS DISTINCT FROM octet_length(content))
      OR (kind::text = 'dir' AND content IS NOT NULL)`,
  'a tenant whose counters are not those of its rows': `
    SELECT coalesce(t.id, e.tenant_id) AS tenant, t.file_count, e.files, t.byte_count, e.bytes FROM tenants t
    FULL JOIN (
      SELECT tenant_id, count(*) FILTER (WHERE kind::text = 'file') AS files,
        coalesce(sum(size_bytes) FILTER (WHERE kind::text = 'file'), 0) AS bytes
      FROM entries GROUP BY tenant_id
    ) e ON e.tenant_id = t.id
    WHERE t.id IS NULL OR t.file_count <> coalesce(e.files, 0) OR t.byte_count <> coalesce(e.bytes, 0)`,
  'a tenant whose history is not what is counted': `
    SELECT coalesce(t.id, h.tenant_id) AS tenant, t.history_versions, h.versions, t.history_bytes, h.bytes FROM tenants t
    FULL JOIN (
      SELECT tenant_id, sum(versions) AS versions, sum(bytes) AS bytes FROM (
        SELECT tenant_id, 1 AS versions, bytes FROM versions
        UNION ALL SELECT tenant_id, 0, memory_directory_bytes(tenant_id, path) FROM past_directories
      ) AS rows GROUP BY tenant_id
    ) h ON h.tenant_id = t.id
    WHERE t.id IS NULL OR t.history_versions <> coalesce(h.versions, 0) OR t.history_bytes <> coalesce(h.bytes, 0)`,
  'an answer of a tenant that does not exist': `
    SELECT tenant_id FROM idempotency_keys AS i WHERE NOT EXISTS (SELECT FROM tenants AS t WHERE t.id = i.tenant_id)`,
  'a version whose row takes more than it counts': `
    SELECT tenant_id, id, bytes FROM versions WHERE bytes < memory_version_bytes(tenant_id, path, origin, content)`,
  'a version whose id does not begin with its time': `
    SELECT tenant_id, id, created_at FROM memory_versions
    WHERE id < memory_first_id(created_at) OR id >= memory_first_id(created_at + interval '1 microsecond')`,
  'a version that is not over when the next one of its file begins': `
    SELECT tenant_id, memory_id, id, superseded_at, next FROM (
      SELECT *, lead(created_at) OVER (PARTITION BY tenant_id, memory_id ORDER BY created_at, superseded_at) AS next
      FROM memory_versions
    ) AS v
    WHERE superseded_at < created_at OR next < coalesce(superseded_at, 'infinity')`,
  'an entry that changed later than its tenant’s last change': `
    SELECT e.tenant_id, e.path FROM entries e JOIN tenants t ON t.id = e.tenant_id WHERE e.changed_at > t.last_change_at`,
};

/** Throws if any tenant in the service's database violates an invariant. */
export async function assertInvariants(service: Service): Promise<void> {
  for (const [violation, sql] of Object.entries(VIOLATIONS)) {
    expect(await service.query(sql), violation).toEqual([]);
  }
  expect(await wrongContents(service), 'a version whose content is not that of its hash and size').toEqual(
    [],
  );
}

const KEPT = `
SELECT tenant_id, memory_id, version AS id, NULL AS splice_start, NULL AS splice_length, content, size_bytes,
  encode(memory_sha256(content), 'hex') AS sha256, true AS has_content
FROM entries WHERE kind = 'file'
UNION ALL
SELECT tenant_id, memory_id, id, splice_start, splice_length, content, size_bytes, encode(content_sha256, 'hex'),
  operation <> 'deleted' AND redacted_at IS NULL
FROM versions`;

/**
 * Returns versions whose rebuilt content does not match their hash and size, and versions with a content that are not
 * files.
 */
async function wrongContents(service: Service): Promise<string[]> {
  const wrong: string[] = [];
  let newer: { file: string; content: Buffer | undefined } | undefined;
  for (const row of await service.query(
    `SELECT * FROM (${KEPT}) AS v ORDER BY tenant_id, memory_id, id DESC`,
  )) {
    const { id, content: kept, splice_start: start, splice_length: length } = row;
    const file = `${row.tenant_id} ${row.memory_id}`;
    let content = typeof kept === 'string' ? Buffer.from(kept) : undefined;
    if (start !== null && content !== undefined) {
      const next = newer?.file === file ? newer.content : undefined;
      const rest = next?.subarray(Number(start) + Number(length));
      content = next && rest && Buffer.concat([next.subarray(0, Number(start)), content, rest]);
    }
    const sha256 = content && createHash('sha256').update(content).digest('hex');
    const isRight = row.has_content
      ? content?.length === row.size_bytes && sha256 === row.sha256
      : [kept, start, length, row.size_bytes, row.sha256].every((each) => each === null);
    if (!isRight) wrong.push(`${file} ${id}`);
    newer = { file, content };
  }
  return wrong;
}

/** Reads a tenant's memory from the database in the model's form. */
export async function readTree(service: Service, tenant: string): Promise<Tree> {
  const rows = await service.query(
    'SELECT path, kind::text AS kind, content FROM entries WHERE tenant_id = $1',
    [tenant],
  );
  const tree = new Map<string, string | null>([['/memories', null]]);
  for (const { path, kind, content } of rows) {
    tree.set(String(path), kind === 'file' ? String(content) : null);
  }
  return tree;
}
