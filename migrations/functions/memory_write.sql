-- Replaces p_removed bytes after the first p_start bytes of a file with p_text, if the file is still at the version that was read
-- (compare-and-swap). So the content itself does not have to be sent. A
-- write that leaves the content as it is makes no version.
--
-- Outcomes beside those of memory_open_write: missing (also for a directory), conflict (the file is at another version),
-- over_quota {of, used, limit, needed}, written.
CREATE OR REPLACE FUNCTION memory_write(
  p_tenant text, p_path text, p_read_version uuid, p_start integer, p_removed integer, p_text text, p_version uuid,
  p_max_files bigint, p_max_bytes bigint, p_history_days bigint,
  p_origin jsonb, p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, p_key_hash, p_request_hash, p_wait);
  file_version uuid;
  more_bytes bigint;
  is_unchanged boolean := false;
  versions bigint := 0;
  history_bytes bigint := 0;
BEGIN
  IF opened.outcome IS NOT NULL THEN
    outcome := CASE opened.outcome WHEN 'unknown_tenant' THEN 'missing' ELSE opened.outcome END;
    data := opened.data;
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
    opened.files, COALESCE(opened.max_files, p_max_files), 0, opened.bytes, COALESCE(opened.max_bytes, p_max_bytes), more_bytes
  );
  IF data IS NOT NULL THEN
    outcome := 'over_quota';
    RETURN;
  END IF;

  IF more_bytes = 0 THEN
    PERFORM FROM entries AS e
    WHERE e.tenant_id = p_tenant AND e.path = p_path
      AND substring(convert_to(e.content, 'UTF8') FROM p_start + 1 FOR p_removed) = convert_to(p_text, 'UTF8');
    is_unchanged := FOUND;
  END IF;
  IF is_unchanged THEN
    UPDATE entries AS e SET accessed_at = now() WHERE e.tenant_id = p_tenant AND e.path = p_path;
  ELSE
    IF opened.keeps_history THEN
      SELECT k.versions, k.bytes INTO versions, history_bytes
      FROM memory_keep_versions(p_tenant, p_path, opened.at, true) AS k;
    END IF;
    UPDATE entries AS e SET
      content = memory_splice(e.content, p_start, p_removed, p_text), version = p_version, updated_at = now(),
      memory_id = COALESCE(e.memory_id, e.version), content_id = NULL, operation = 'modified',
      changed_at = opened.at, origin = p_origin
    WHERE e.tenant_id = p_tenant AND e.path = p_path;
    PERFORM memory_count_change(
      p_tenant, 0, more_bytes, versions, history_bytes, opened.at, NOT opened.keeps_history
    );
  END IF;
  IF p_key_hash IS NOT NULL THEN
    PERFORM memory_store_answer(p_tenant, p_key_hash, p_request_hash, p_answer, false);
  END IF;
  outcome := 'written';
END
$$;
