-- Deletes the entries at and below p_path, and records it as the change p_change at p_at. The caller has locked the tenant. Returns how
-- many entries, files and bytes that were.
CREATE OR REPLACE FUNCTION memory_delete_entries(
  p_tenant text, p_path text, p_at timestamptz, p_keeps_history boolean, p_change uuid, p_origin jsonb,
  OUT entries bigint, OUT files bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  kept record;
  marked record;
  versions bigint := 0;
  history_bytes bigint := 0;
BEGIN
  IF p_keeps_history THEN
    kept := memory_keep_versions(p_tenant, p_path, p_at, true);
    marked := memory_record_deletions(p_tenant, p_path, p_at, p_change, p_origin);
    versions := kept.versions + marked.versions;
    history_bytes := kept.bytes + marked.bytes + memory_keep_directories(p_tenant, p_path, p_at);
  END IF;
  WITH deleted AS (
    DELETE FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_path) RETURNING e.kind, e.size_bytes
  )
  SELECT count(*), count(*) FILTER (WHERE d.kind = 'file'), COALESCE(sum(d.size_bytes), 0)
  INTO entries, files, bytes FROM deleted AS d;
  IF entries > 0 THEN
    PERFORM memory_count_change(p_tenant, -files, -bytes, versions, history_bytes, p_at, NOT p_keeps_history);
  END IF;
END
$$;
