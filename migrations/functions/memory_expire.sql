-- Deletes at most p_limit files in a tenant that were neither read nor written since p_before, as the change p_change.
-- Keeps directories. Returns how many files were deleted, and their bytes; 0 if the tenant does not exist.
CREATE OR REPLACE FUNCTION memory_expire(
  p_tenant text, p_before timestamptz, p_limit integer, p_change uuid, p_history_days bigint, p_max_history_bytes bigint, p_origin jsonb,
  OUT files bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, NULL, NULL, true);
  paths text[];
BEGIN
  files := 0;
  bytes := 0;
  IF opened.outcome IS NOT NULL THEN
    RETURN;
  END IF;
  paths := ARRAY(
    SELECT e.path FROM entries AS e
    WHERE e.tenant_id = p_tenant AND e.kind = 'file' AND e.accessed_at < p_before AND e.updated_at < p_before
    LIMIT p_limit
  );
  IF cardinality(paths) > 0 THEN
    SELECT d.files, d.bytes INTO files, bytes
    FROM memory_delete_entries(
      p_tenant, paths, opened.at, opened.id_prefix, opened.keeps_history, p_change, p_origin, p_max_history_bytes
    ) AS d;
  END IF;
END
$$;
