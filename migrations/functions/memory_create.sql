-- Creates a file and its missing parent directories. p_version is a random ID: see memory_version_id. With
-- p_auto_create, the first file for a missing tenant creates the tenant.
--
-- Outcomes in addition to memory_open_write, in the contract's order (docs/contract.md, section 2): exists,
-- not_a_directory {path}, over_quota {of, used, limit, needed}, created.
CREATE OR REPLACE FUNCTION memory_create(
  p_tenant text, p_path text, p_content text, p_version uuid, p_auto_create boolean, p_origin jsonb,
  p_key_hash text, p_request_hash text, p_result text,
  p_max_files bigint, p_max_bytes bigint, p_wait boolean, p_created_at timestamptz DEFAULT NULL,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened record := memory_open_write(p_tenant, 1, p_key_hash, p_request_hash, p_wait, p_created_at, p_if_archived => 'archived');
  new_id uuid;
  bytes CONSTANT bigint := octet_length(p_content);
  made_tenant boolean := false;
BEGIN
  IF opened.outcome = 'unknown_tenant' AND p_auto_create THEN
    INSERT INTO tenants (id) VALUES (p_tenant) ON CONFLICT (id) DO NOTHING;
    made_tenant := FOUND;
    IF made_tenant THEN
      PERFORM memory_record_event(p_tenant, 'tenant_created', COALESCE(p_origin -> 'actor', '{"type": "anonymous"}'), '{}');
    END IF;
    opened := memory_open_write(
      p_tenant, 1, p_key_hash, p_request_hash, p_wait, CASE WHEN made_tenant THEN NULL ELSE p_created_at END, p_if_archived => 'archived'
    );
  END IF;
  outcome := opened.outcome;
  data := opened.data;
  IF outcome IS NOT NULL THEN
    RETURN;
  END IF;

  new_id := memory_version_id(opened.id_prefix, p_version);
  IF memory_fits(opened.files, 1, COALESCE(opened.max_files, p_max_files))
    AND memory_fits(opened.bytes, bytes, COALESCE(opened.max_bytes, p_max_bytes)) THEN
    INSERT INTO entries AS e (tenant_id, path, parent_path, kind, content, version, memory_id, operation, created_at, changed_at, origin)
    SELECT parent.tenant_id, p_path, parent.dir_path, 'file', p_content, new_id, new_id, 'created', opened.at, opened.at, p_origin
    FROM entries AS parent WHERE parent.tenant_id = p_tenant AND parent.dir_path = memory_parent(p_path)
    ON CONFLICT (tenant_id, path) DO NOTHING;
    IF FOUND THEN
      outcome := 'created';
    END IF;
  END IF;
  IF outcome IS NULL THEN
    SELECT c.outcome, c.data INTO outcome, data
    FROM memory_create_below(p_tenant, p_path, p_content, new_id, opened.at, p_origin, opened.files, COALESCE(opened.max_files, p_max_files),
      opened.bytes, COALESCE(opened.max_bytes, p_max_bytes)) AS c;
    IF outcome <> 'created' THEN
      IF made_tenant THEN
        DELETE FROM tenants WHERE tenants.id = p_tenant;
        DELETE FROM tenant_events AS e WHERE e.tenant_id = p_tenant AND e.type = 'tenant_created' AND NOT e.fleet_only;
      END IF;
      RETURN;
    END IF;
  END IF;

  UPDATE tenants AS t SET file_count = t.file_count + 1, byte_count = t.byte_count + bytes, last_change_at = opened.at
  WHERE t.id = p_tenant;
  PERFORM memory_log_change(p_tenant, opened.at);
  IF memory_nears(opened.files, 1, COALESCE(opened.max_files, p_max_files))
    OR memory_nears(opened.bytes, bytes, COALESCE(opened.max_bytes, p_max_bytes)) THEN
    PERFORM memory_record_near_limits(
      p_tenant, opened.files, opened.max_files, opened.bytes, opened.max_bytes, p_max_files, p_max_bytes, p_origin -> 'actor'
    );
  END IF;
  IF p_key_hash IS NOT NULL THEN
    INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error)
    VALUES (p_tenant, p_key_hash, p_request_hash, p_result, false);
  END IF;
END
$$;

-- Slow path for memory_create, used if the parent directory is missing or the file cannot be created.
CREATE OR REPLACE FUNCTION memory_create_below(
  p_tenant text, p_path text, p_content text, p_id uuid, p_at timestamptz, p_origin jsonb,
  p_files bigint, p_max_files bigint, p_bytes bigint, p_max_bytes bigint,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  file_above CONSTANT text := memory_file_above(p_tenant, p_path);
BEGIN
  PERFORM FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = p_path;
  IF FOUND THEN
    outcome := 'exists';
  ELSIF file_above IS NOT NULL THEN
    outcome := 'not_a_directory';
    data := jsonb_build_object('path', file_above);
  ELSE
    data := COALESCE(
      memory_exceeded_quota(p_files, p_max_files, 1, p_bytes, p_max_bytes, octet_length(p_content)),
      memory_make_directories(p_tenant, p_path, p_max_files, p_at)
    );
    outcome := CASE WHEN data IS NULL THEN 'created' ELSE 'over_quota' END;
  END IF;
  IF outcome = 'created' THEN
    INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, created_at, changed_at, origin)
    VALUES (p_tenant, p_path, memory_parent(p_path), 'file', p_content, p_id, p_id, 'created', p_at, p_at, p_origin);
  END IF;
END
$$;
