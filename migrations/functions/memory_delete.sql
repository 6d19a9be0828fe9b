-- Deletes a file, or a directory with all below it.
--
-- Outcomes beside those of memory_begin_write: missing, deleted.
CREATE OR REPLACE FUNCTION memory_delete(
  p_tenant text, p_path text,
  p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  begun CONSTANT record := memory_begin_write(p_tenant, p_key_hash, p_request_hash, p_wait);
  gone record;
BEGIN
  IF begun.outcome IS NOT NULL THEN
    outcome := CASE begun.outcome WHEN 'unknown_tenant' THEN 'missing' ELSE begun.outcome END;
    data := begun.data;
    RETURN;
  END IF;

  WITH deleted AS (
    DELETE FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_path)
    RETURNING e.kind, e.size_bytes
  )
  SELECT count(*) AS entries, count(*) FILTER (WHERE d.kind = 'file') AS files, COALESCE(sum(d.size_bytes), 0) AS bytes
  INTO gone FROM deleted AS d;
  IF gone.entries = 0 THEN
    outcome := 'missing';
    RETURN;
  END IF;
  UPDATE tenants AS t SET file_count = t.file_count - gone.files, byte_count = t.byte_count - gone.bytes WHERE t.id = p_tenant;
  IF p_key_hash IS NOT NULL THEN
    PERFORM memory_store_answer(p_tenant, p_key_hash, p_request_hash, p_answer, false);
  END IF;
  outcome := 'deleted';
END
$$;
