-- Returns the file among the ancestors of `p_path`, or null. At most one ancestor is a file, because files have no
-- children. Looks up each ancestor separately, because a plan for all ancestors together may read all the tenant's
-- entries (docs/decisions/0028-flat-to-ten-million-files.md).
CREATE OR REPLACE FUNCTION memory_file_above(p_tenant text, p_path text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT e.path FROM unnest(memory_ancestors(p_path)) AS a (path) CROSS JOIN LATERAL (
      SELECT f.path, f.kind FROM entries AS f WHERE f.tenant_id = p_tenant AND f.path = a.path OFFSET 0
    ) AS e
    WHERE e.kind = 'file'
  );
END
$$;

-- Returns the quota that p_more directories would exceed, formatted as by memory_exceeded_quota, or null. A tenant may
-- have as many directories, without the root, as files. Directories are counted on each creation, which is rare.
CREATE OR REPLACE FUNCTION memory_exceeded_directories(
  p_tenant text, p_more bigint, p_max_directories bigint
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
  used bigint;
BEGIN
  IF p_more > 0 AND p_max_directories > 0 THEN
    SELECT count(*) INTO used FROM entries AS e WHERE e.tenant_id = p_tenant AND e.dir_path > '/memories';
    IF used + p_more > p_max_directories THEN
      RETURN jsonb_build_object('of', 'directories', 'used', used, 'limit', p_max_directories, 'needed', p_more);
    END IF;
  END IF;
  RETURN NULL;
END
$$;

-- Gives the root its tenant's creation time. Reads compare this time to detect that a tenant was deleted and another
-- tenant has its ID (src/core/files/read-queries.ts). The root never changes, unlike the tenant's counters, and is on
-- the same index pages as the entries that are read.
CREATE OR REPLACE FUNCTION memory_bind_root(p_tenant text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE entries AS e SET created_at = t.created_at
  FROM tenants AS t WHERE t.id = p_tenant AND e.tenant_id = p_tenant AND e.path = '/memories';
END
$$;

-- Creates the missing directories above `p_path`, in a change at p_at. If the new directories would exceed a quota,
-- returns the quota and creates none.
CREATE OR REPLACE FUNCTION memory_make_directories(
  p_tenant text, p_path text, p_max_directories bigint, p_at timestamptz
) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  missing text[];
  exceeded jsonb;
BEGIN
  SELECT array_agg(a.path) INTO missing FROM unnest(memory_ancestors(p_path)) AS a (path)
  WHERE NOT EXISTS (SELECT FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = a.path);
  exceeded := memory_exceeded_directories(p_tenant, cardinality(array_remove(missing, '/memories')), p_max_directories);
  IF exceeded IS NULL THEN
    INSERT INTO entries AS e (tenant_id, path, parent_path, kind, changed_at)
    SELECT p_tenant, m.path, memory_parent(m.path), 'dir', p_at FROM unnest(missing) AS m (path);
    IF '/memories' = ANY (missing) THEN
      PERFORM memory_bind_root(p_tenant);
    END IF;
  END IF;
  RETURN exceeded;
END
$$;
