-- Deletes up to p_limit entries of a tenant, what is below a directory before the directory. Returns how many that were.
CREATE OR REPLACE FUNCTION memory_erase(p_tenant text, p_limit integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  gone record;
BEGIN
  PERFORM FROM tenants WHERE id = p_tenant FOR NO KEY UPDATE;
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
