-- Functions that delete a tenant's data before the tenant itself. They record no versions.

-- Deletes at most p_limit entries from a tenant, in descending path order, so that a directory's contents precede the
-- directory. Returns how many entries were deleted.
CREATE OR REPLACE FUNCTION memory_erase_entries(p_tenant text, p_limit integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  gone record;
BEGIN
  WITH erased AS (
    DELETE FROM entries AS e
    WHERE e.tenant_id = p_tenant AND e.path IN (
      SELECT last.path FROM entries AS last WHERE last.tenant_id = p_tenant ORDER BY last.path DESC LIMIT p_limit
    )
    RETURNING e.kind, e.size_bytes
  )
  SELECT count(*) AS entries, count(*) FILTER (WHERE x.kind = 'file') AS files, COALESCE(sum(x.size_bytes), 0) AS bytes
  INTO gone FROM erased AS x;
  UPDATE tenants AS t SET file_count = t.file_count - gone.files, byte_count = t.byte_count - gone.bytes
  WHERE t.id = p_tenant AND gone.files > 0;
  RETURN gone.entries;
END
$$;

-- Deletes at most p_limit rows from a tenant's history. Returns how many rows were deleted per table.
CREATE OR REPLACE FUNCTION memory_erase_history(p_tenant text, p_limit integer, OUT versions bigint, OUT directories bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  version_bytes bigint;
  directory_bytes bigint;
BEGIN
  WITH erased AS (
    DELETE FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id IN (
      SELECT old.id FROM versions AS old WHERE old.tenant_id = p_tenant ORDER BY old.id LIMIT p_limit
    )
    RETURNING v.bytes
  )
  SELECT count(*), COALESCE(sum(x.bytes), 0) INTO versions, version_bytes FROM erased AS x;
  -- All periods of a directory are deleted together, so the row count may exceed p_limit slightly.
  WITH erased AS (
    DELETE FROM past_directories AS d WHERE d.tenant_id = p_tenant AND d.path IN (
      SELECT old.path FROM past_directories AS old WHERE old.tenant_id = p_tenant LIMIT p_limit - versions
    )
    RETURNING memory_directory_bytes(d.tenant_id, d.path) AS bytes
  )
  SELECT count(*), COALESCE(sum(x.bytes), 0) INTO directories, directory_bytes FROM erased AS x;
  UPDATE tenants AS t SET
    history_versions = t.history_versions - versions, history_bytes = t.history_bytes - version_bytes - directory_bytes
  WHERE t.id = p_tenant AND versions + directories > 0;
END
$$;
