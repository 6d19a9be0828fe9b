-- Creates a file, and the directories above it that are missing.
--
-- Outcomes beside those of memory_begin_write, in the order of the contract (docs/contract.md, section 2): exists,
-- not_a_directory {path}, over_quota {of, used, limit, needed}, created. With p_auto_create the tenant's first file makes the tenant.
CREATE OR REPLACE FUNCTION memory_create(
  p_tenant text, p_path text, p_content text, p_version uuid, p_auto_create boolean,
  p_max_files bigint, p_max_bytes bigint,
  p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  begun record := memory_begin_write(p_tenant, p_key_hash, p_request_hash, p_wait);
  parent CONSTANT text := memory_parent(p_path);
  made_tenant boolean := false;
  kind_there text;
  kind_above text;
  file_above text;
BEGIN
  IF begun.outcome = 'unknown_tenant' AND p_auto_create THEN
    INSERT INTO tenants (id) VALUES (p_tenant) ON CONFLICT (id) DO NOTHING;
    made_tenant := FOUND;
    begun := memory_begin_write(p_tenant, p_key_hash, p_request_hash, p_wait);
  END IF;
  IF begun.outcome IS NOT NULL THEN
    outcome := begun.outcome;
    data := begun.data;
    RETURN;
  END IF;

  SELECT max(e.kind) FILTER (WHERE e.path = p_path), max(e.kind) FILTER (WHERE e.path = parent)
  INTO kind_there, kind_above
  FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path IN (p_path, parent);
  IF kind_there IS NOT NULL THEN
    outcome := 'exists';
    RETURN;
  END IF;
  IF kind_above IS DISTINCT FROM 'dir' THEN
    file_above := memory_file_above(p_tenant, p_path);
    IF file_above IS NOT NULL THEN
      outcome := 'not_a_directory';
      data := jsonb_build_object('path', file_above);
      RETURN;
    END IF;
  END IF;
  data := memory_change_usage(p_tenant, 1, octet_length(p_content), p_max_files, p_max_bytes);
  IF data IS NOT NULL THEN
    outcome := 'over_quota';
    IF made_tenant THEN
      DELETE FROM tenants WHERE id = p_tenant;
    END IF;
    RETURN;
  END IF;

  IF kind_above IS NULL THEN
    PERFORM memory_make_directories(p_tenant, p_path);
  END IF;
  INSERT INTO entries (tenant_id, path, parent_path, kind, content, version)
  VALUES (p_tenant, p_path, parent, 'file', p_content, p_version);
  PERFORM memory_store_answer(p_tenant, p_key_hash, p_request_hash, p_answer, false);
  outcome := 'created';
END
$$;
