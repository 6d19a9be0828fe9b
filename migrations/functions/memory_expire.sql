-- Deletes up to p_limit files of a tenant that were neither read nor written since p_before, as the change p_change. Directories stay.
-- Returns how many files and bytes that were; none for a tenant that does not exist.
CREATE OR REPLACE FUNCTION memory_expire(
  p_tenant text, p_before timestamptz, p_limit integer, p_change uuid, p_history_days bigint, p_origin jsonb,
  OUT files bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, NULL, NULL, true);
  file record;
  deleted record;
BEGIN
  files := 0;
  bytes := 0;
  IF opened.outcome IS NOT NULL THEN
    RETURN;
  END IF;
  FOR file IN
    SELECT e.path FROM entries AS e
    WHERE e.tenant_id = p_tenant AND e.kind = 'file' AND e.accessed_at < p_before AND e.updated_at < p_before
    LIMIT p_limit
  LOOP
    deleted := memory_delete_entries(p_tenant, file.path, opened.at, opened.keeps_history, p_change, p_origin);
    files := files + deleted.files;
    bytes := bytes + deleted.bytes;
  END LOOP;
END
$$;
