-- Creates a file, and the directories above it that are missing.
--
-- Outcomes beside those of memory_open_write, in the order of the contract (docs/contract.md, section 2): exists,
-- not_a_directory {path}, over_quota {of, used, limit, needed}, created. With p_auto_create the tenant's first file makes the tenant.
CREATE OR REPLACE FUNCTION memory_create(
  p_tenant text, p_path text, p_content text, p_version uuid, p_auto_create boolean,
  p_max_files bigint, p_max_bytes bigint,
  p_origin jsonb, p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened record := memory_open_write(p_tenant, NULL, p_key_hash, p_request_hash, p_wait);
  parent CONSTANT text := memory_parent(p_path);
  made_tenant boolean := false;
  is_made boolean := false;
  exceeded jsonb;
  file_above text;
BEGIN
  IF opened.outcome = 'unknown_tenant' AND p_auto_create THEN
    INSERT INTO tenants (id) VALUES (p_tenant) ON CONFLICT (id) DO NOTHING;
    made_tenant := FOUND;
    opened := memory_open_write(p_tenant, NULL, p_key_hash, p_request_hash, p_wait);
  END IF;
  IF opened.outcome IS NOT NULL THEN
    outcome := opened.outcome;
    data := opened.data;
    RETURN;
  END IF;

  exceeded := memory_exceeded_quota(
    opened.files, COALESCE(opened.max_files, p_max_files), 1,
    opened.bytes, COALESCE(opened.max_bytes, p_max_bytes), octet_length(p_content)
  );
  IF exceeded IS NULL THEN
    PERFORM FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = parent AND e.kind = 'dir';
    IF FOUND THEN
      INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, changed_at, origin)
      VALUES (p_tenant, p_path, parent, 'file', p_content, p_version, opened.at, p_origin)
      ON CONFLICT (tenant_id, path) DO NOTHING;
      is_made := FOUND;
    END IF;
  END IF;
  IF NOT is_made THEN
    PERFORM FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = p_path;
    IF FOUND THEN
      outcome := 'exists';
      RETURN;
    END IF;
    file_above := memory_file_above(p_tenant, p_path);
    IF file_above IS NOT NULL THEN
      outcome := 'not_a_directory';
      data := jsonb_build_object('path', file_above);
      RETURN;
    END IF;
    IF exceeded IS NULL THEN
      exceeded := memory_make_directories(p_tenant, p_path, COALESCE(opened.max_files, p_max_files), opened.at);
    END IF;
    IF exceeded IS NOT NULL THEN
      IF made_tenant THEN
        DELETE FROM tenants WHERE id = p_tenant;
      END IF;
      outcome := 'over_quota';
      data := exceeded;
      RETURN;
    END IF;
    INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, changed_at, origin)
    VALUES (p_tenant, p_path, parent, 'file', p_content, p_version, opened.at, p_origin);
  END IF;

  PERFORM memory_count_change(p_tenant, 1, octet_length(p_content), 0, 0, opened.at, false);
  IF p_key_hash IS NOT NULL THEN
    PERFORM memory_store_answer(p_tenant, p_key_hash, p_request_hash, p_answer, false);
  END IF;
  outcome := 'created';
END
$$;
