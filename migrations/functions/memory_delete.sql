-- Deletes a file, or a directory with its descendants. p_change is a new random ID, from which the recorded versions'
-- IDs are derived.
--
-- Outcomes in addition to memory_open_write: missing, deleted.
CREATE OR REPLACE FUNCTION memory_delete(
  p_tenant text, p_path text, p_change uuid, p_origin jsonb,
  p_key_hash text, p_request_hash text, p_result text,
  p_history_days bigint, p_max_history_bytes bigint, p_wait boolean, p_created_at timestamptz DEFAULT NULL,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(
    p_tenant, p_history_days, p_key_hash, p_request_hash, p_wait, p_created_at, p_if_missing => 'missing'
  );
  paths text[];
BEGIN
  outcome := opened.outcome;
  data := opened.data;
  IF outcome IS NOT NULL THEN
    RETURN;
  END IF;

  paths := ARRAY(SELECT e.path FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_path));
  IF cardinality(paths) = 0 THEN
    outcome := 'missing';
    RETURN;
  END IF;
  PERFORM memory_delete_entries(
    p_tenant, paths, opened.at, opened.id_prefix, opened.keeps_history, p_change, p_origin, p_max_history_bytes
  );
  IF p_key_hash IS NOT NULL THEN
    INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error)
    VALUES (p_tenant, p_key_hash, p_request_hash, p_result, false);
  END IF;
  outcome := 'deleted';
END
$$;

-- Deletes the entries at p_paths, which must include all descendants of a directory. Records the deletion as the change
-- p_change at p_at. The caller has locked the tenant. Returns how many files were deleted, and their bytes.
CREATE OR REPLACE FUNCTION memory_delete_entries(
  p_tenant text, p_paths text[], p_at timestamptz, p_id_prefix text, p_keeps_history boolean, p_change uuid, p_origin jsonb,
  p_max_history_bytes bigint, OUT files bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  kept record;
  versions bigint := 0;
  history_bytes bigint := 0;
  deleted_path text;
  version_bytes integer;
  gone record;
BEGIN
  files := 0;
  bytes := 0;
  IF p_keeps_history THEN
    kept := memory_keep_entries(p_tenant, p_paths, p_at, true);
    versions := kept.versions;
    history_bytes := kept.bytes;
  ELSE
    history_bytes := memory_lose_entries(p_tenant, p_paths);
  END IF;
  -- Descending order, so that a directory's contents are deleted before the directory.
  FOR deleted_path IN SELECT p.path FROM unnest(p_paths) AS p (path) ORDER BY p.path COLLATE "C" DESC LOOP
    IF p_keeps_history THEN
      INSERT INTO versions AS v (tenant_id, id, memory_id, operation, path, created_at, superseded_at, origin, bytes)
      SELECT e.tenant_id, memory_version_id(p_id_prefix, p_change, e.memory_id), e.memory_id, 'deleted', e.path, p_at, p_at, p_origin,
        memory_version_bytes(e.tenant_id, e.path, p_origin, NULL)
      FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = deleted_path AND e.kind = 'file'
      RETURNING v.bytes INTO version_bytes;
      IF FOUND THEN
        versions := versions + 1;
        history_bytes := history_bytes + version_bytes;
      END IF;
    END IF;
    DELETE FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = deleted_path RETURNING e.kind, e.size_bytes INTO gone;
    IF gone.kind = 'file' THEN
      files := files + 1;
      bytes := bytes + gone.size_bytes;
    END IF;
  END LOOP;
  PERFORM memory_count_change(
    p_tenant, -files, -bytes, versions, history_bytes, p_at, NOT p_keeps_history AND cardinality(p_paths) > 0, p_max_history_bytes
  );
END
$$;
