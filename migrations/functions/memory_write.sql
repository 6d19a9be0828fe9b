-- Replaces p_removed bytes after the first p_start bytes of a file with p_text, if the file is still at the version that was read
-- (compare-and-swap). So the content itself does not have to be sent.
--
-- Outcomes beside those of memory_begin_write: missing (also for a directory), conflict (the file is at another version),
-- over_quota {of, used, limit, needed}, written.
CREATE OR REPLACE FUNCTION memory_write(
  p_tenant text, p_path text, p_read_version uuid, p_start integer, p_removed integer, p_text text, p_version uuid,
  p_max_files bigint, p_max_bytes bigint,
  p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  begun CONSTANT record := memory_begin_write(p_tenant, p_key_hash, p_request_hash, p_wait);
  file_version uuid;
  more_bytes bigint;
BEGIN
  IF begun.outcome IS NOT NULL THEN
    outcome := CASE begun.outcome WHEN 'unknown_tenant' THEN 'missing' ELSE begun.outcome END;
    data := begun.data;
    RETURN;
  END IF;

  SELECT e.version INTO file_version
  FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = p_path AND e.kind = 'file';
  IF NOT FOUND THEN
    outcome := 'missing';
    RETURN;
  ELSIF file_version <> p_read_version THEN
    outcome := 'conflict';
    RETURN;
  END IF;
  more_bytes := octet_length(p_text) - p_removed;
  data := memory_exceeded_quota(
    begun.files, COALESCE(begun.max_files, p_max_files), 0, begun.bytes, COALESCE(begun.max_bytes, p_max_bytes), more_bytes
  );
  IF data IS NOT NULL THEN
    outcome := 'over_quota';
    RETURN;
  END IF;

  UPDATE entries AS e SET
    content = convert_from(
      overlay(convert_to(e.content, 'UTF8') PLACING convert_to(p_text, 'UTF8') FROM p_start + 1 FOR p_removed), 'UTF8'
    ),
    version = p_version, updated_at = now()
  WHERE e.tenant_id = p_tenant AND e.path = p_path;
  IF more_bytes <> 0 THEN
    UPDATE tenants AS t SET byte_count = t.byte_count + more_bytes WHERE t.id = p_tenant;
  END IF;
  IF p_key_hash IS NOT NULL THEN
    PERFORM memory_store_answer(p_tenant, p_key_hash, p_request_hash, p_answer, false);
  END IF;
  outcome := 'written';
END
$$;
