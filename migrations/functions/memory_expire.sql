-- Deletes up to p_limit files of a tenant that were neither read nor written since p_before. Directories stay.
-- Returns how many files and bytes that were; none for a tenant that does not exist.
CREATE OR REPLACE FUNCTION memory_expire(
  p_tenant text, p_before timestamptz, p_limit integer, OUT files bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM FROM tenants WHERE id = p_tenant FOR NO KEY UPDATE;
  WITH expired AS (
    DELETE FROM entries AS e
    WHERE e.tenant_id = p_tenant AND e.path IN (
      SELECT old.path FROM entries AS old
      WHERE old.tenant_id = p_tenant AND old.kind = 'file' AND old.accessed_at < p_before AND old.updated_at < p_before
      LIMIT p_limit
    )
    RETURNING e.size_bytes
  )
  SELECT count(*), COALESCE(sum(x.size_bytes), 0) INTO files, bytes FROM expired AS x;
  IF files > 0 THEN
    UPDATE tenants AS t SET file_count = t.file_count - files, byte_count = t.byte_count - bytes WHERE t.id = p_tenant;
  END IF;
END
$$;
