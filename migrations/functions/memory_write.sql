-- Replaces p_removed bytes after the file's first p_start bytes with p_text, if the file is still at the version that
-- was read (compare-and-swap). The rest of the content is not sent. A write that changes no bytes creates no version.
--
-- p_version is a random ID: see memory_version_id. p_read_version is compared by the ID's second half, which the writer
-- chooses before the write.
--
-- Outcomes in addition to memory_open_write: missing (also for a directory), conflict (the file is at another
-- version), over_quota {of, used, limit, needed}, written.
CREATE OR REPLACE FUNCTION memory_write(
  p_tenant text, p_path text, p_read_version uuid, p_start integer, p_removed integer, p_text text, p_version uuid, p_origin jsonb,
  p_key_hash text, p_request_hash text, p_result text,
  p_max_bytes bigint, p_history_days bigint, p_max_history_bytes bigint, p_wait boolean, p_created_at timestamptz DEFAULT NULL,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(
    p_tenant, p_history_days, p_key_hash, p_request_hash, p_wait, p_created_at, p_if_missing => 'missing', p_if_archived => 'archived'
  );
  more_bytes CONSTANT bigint := octet_length(p_text) - p_removed;
  max_history_bytes CONSTANT bigint := COALESCE(opened.max_history_bytes, p_max_history_bytes);
  file record;
  old_bytes bytea;
  is_whole boolean;
  kept text;
  kept_bytes bigint := 0;
BEGIN
  outcome := opened.outcome;
  data := opened.data;
  IF outcome IS NOT NULL THEN
    RETURN;
  END IF;

  SELECT e.version, e.memory_id, e.operation, e.changed_at, e.origin, e.size_bytes, e.content INTO file
  FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = p_path AND e.kind = 'file';
  IF NOT FOUND THEN
    outcome := 'missing';
    RETURN;
  ELSIF right(file.version::text, 17) <> right(p_read_version::text, 17) THEN
    outcome := 'conflict';
    RETURN;
  ELSIF NOT memory_fits(opened.bytes, more_bytes, COALESCE(opened.max_bytes, p_max_bytes)) THEN
    outcome := 'over_quota';
    data := memory_exceeded_quota(0, 0, 0, opened.bytes, COALESCE(opened.max_bytes, p_max_bytes), more_bytes);
    RETURN;
  END IF;

  IF p_removed = 0 AND p_text = '' THEN
    UPDATE entries AS e SET accessed_at = now() WHERE e.tenant_id = p_tenant AND e.path = p_path;
  ELSE
    old_bytes := convert_to(file.content, 'UTF8');
    IF opened.keeps_history THEN
      is_whole := p_removed >= file.size_bytes OR memory_is_whole(file.version);
      kept := CASE WHEN is_whole THEN file.content ELSE convert_from(substring(old_bytes FROM p_start + 1 FOR p_removed), 'UTF8') END;
      kept_bytes := memory_version_bytes(p_tenant, p_path, file.origin, kept);
      INSERT INTO versions (
        tenant_id, id, memory_id, operation, path, created_at, superseded_at, origin, size_bytes, content_sha256,
        splice_start, splice_length, content, bytes
      )
      VALUES (
        p_tenant, file.version, file.memory_id, file.operation, p_path, file.changed_at, opened.at, file.origin, file.size_bytes, sha256(old_bytes),
        CASE WHEN NOT is_whole THEN p_start END, CASE WHEN NOT is_whole THEN octet_length(p_text) END, kept, kept_bytes
      );
    ELSIF opened.history_bytes > 0 THEN
      kept_bytes := memory_make_whole(p_tenant, file.memory_id, ARRAY[file.version]);
    END IF;
    UPDATE entries AS e SET
      content = convert_from(overlay(old_bytes PLACING convert_to(p_text, 'UTF8') FROM p_start + 1 FOR p_removed), 'UTF8'),
      version = memory_version_id(opened.id_prefix, p_version), operation = 'modified', updated_at = now(),
      changed_at = opened.at, origin = p_origin
    WHERE e.tenant_id = p_tenant AND e.path = p_path;
    UPDATE tenants AS t SET
      byte_count = t.byte_count + more_bytes, last_change_at = opened.at,
      history_versions = t.history_versions + CASE WHEN opened.keeps_history THEN 1 ELSE 0 END,
      history_bytes = t.history_bytes + kept_bytes,
      history_since = CASE WHEN opened.keeps_history THEN t.history_since ELSE opened.at END
    WHERE t.id = p_tenant;
    PERFORM memory_log_change(p_tenant, opened.at);
    IF memory_nears(opened.bytes, more_bytes, COALESCE(opened.max_bytes, p_max_bytes)) THEN
      PERFORM memory_record_near_limits(
        p_tenant, opened.files, opened.max_files, opened.bytes, opened.max_bytes, 0, p_max_bytes, p_origin -> 'actor'
      );
    END IF;
    IF opened.history_bytes + kept_bytes > NULLIF(max_history_bytes, 0) THEN
      PERFORM memory_prune_after_write(p_tenant, opened.history_bytes + kept_bytes, max_history_bytes, kept_bytes);
    END IF;
  END IF;
  IF p_key_hash IS NOT NULL THEN
    INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error)
    VALUES (p_tenant, p_key_hash, p_request_hash, p_result, false);
  END IF;
  outcome := 'written';
END
$$;
