-- Moves a file, or a directory with its descendants, and creates the destination's missing ancestors. p_change is a new
-- random ID, from which the IDs for the files' new versions are derived.
--
-- Outcomes in addition to memory_open_write, in the contract's order (docs/contract.md, section 2):
--
-- - destination_exists
-- - source_missing
-- - inside_itself
-- - not_a_directory {path}
-- - too_long {path}: the first new path that is longer than p_max_path_bytes or deeper than p_max_depth levels below
--   the root
-- - over_quota {of, used, limit, needed}
-- - renamed
CREATE OR REPLACE FUNCTION memory_rename(
  p_tenant text, p_from text, p_to text, p_change uuid, p_origin jsonb,
  p_key_hash text, p_request_hash text, p_result text,
  p_max_path_bytes integer, p_max_depth integer, p_max_files bigint, p_history_days bigint, p_max_history_bytes bigint, p_wait boolean, p_created_at timestamptz DEFAULT NULL,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(
    p_tenant, p_history_days, p_key_hash, p_request_hash, p_wait, p_created_at, p_if_missing => 'source_missing', p_if_archived => 'archived'
  );
  paths text[];
  problem_path text;
BEGIN
  outcome := opened.outcome;
  data := opened.data;
  IF outcome IS NOT NULL THEN
    RETURN;
  END IF;

  PERFORM FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = p_to;
  IF FOUND THEN
    outcome := 'destination_exists';
    RETURN;
  END IF;
  paths := ARRAY(SELECT e.path FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_from));
  IF cardinality(paths) = 0 THEN
    outcome := 'source_missing';
    RETURN;
  END IF;
  IF memory_in_subtree(p_to, p_from) THEN
    outcome := 'inside_itself';
    RETURN;
  END IF;
  problem_path := memory_file_above(p_tenant, p_to);
  IF problem_path IS NOT NULL THEN
    outcome := 'not_a_directory';
    data := jsonb_build_object('path', problem_path);
    RETURN;
  END IF;
  SELECT min(m.path) INTO problem_path FROM (
    SELECT p_to || substr(p.path, length(p_from) + 1) COLLATE "C" AS path FROM unnest(paths) AS p (path)
  ) AS m
  WHERE octet_length(m.path) > p_max_path_bytes
    OR length(m.path) - length(replace(m.path, '/', '')) - 1 > p_max_depth;
  IF problem_path IS NOT NULL THEN
    outcome := 'too_long';
    data := jsonb_build_object('path', problem_path);
    RETURN;
  END IF;

  data := memory_make_directories(p_tenant, p_to, COALESCE(opened.max_files, p_max_files), opened.at);
  IF data IS NOT NULL THEN
    outcome := 'over_quota';
    RETURN;
  END IF;
  PERFORM memory_move_entries(
    p_tenant, p_from, p_to, paths, opened.at, opened.keeps_history, opened.id_prefix, p_change, p_origin, p_max_history_bytes
  );
  IF p_key_hash IS NOT NULL THEN
    INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error)
    VALUES (p_tenant, p_key_hash, p_request_hash, p_result, false);
  END IF;
  outcome := 'renamed';
END
$$;

-- Moves the entries at p_paths from p_from to p_to, whose parent exists. A null p_origin keeps the origins. The caller
-- has locked the tenant.
CREATE OR REPLACE FUNCTION memory_move_entries(
  p_tenant text, p_from text, p_to text, p_paths text[], p_at timestamptz, p_keeps_history boolean, p_id_prefix text,
  p_change uuid, p_origin jsonb, p_max_history_bytes bigint
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  kept record;
  versions bigint := 0;
  history_bytes bigint := 0;
BEGIN
  IF p_keeps_history THEN
    kept := memory_keep_entries(p_tenant, p_paths, p_at, false);
    versions := kept.versions;
    history_bytes := kept.bytes;
  END IF;
  UPDATE entries AS e SET
    path = p_to || substr(e.path, length(p_from) + 1),
    parent_path = CASE WHEN e.path = p_from THEN memory_parent(p_to)
      ELSE p_to || substr(e.parent_path, length(p_from) + 1) END,
    version = CASE WHEN e.kind = 'file' THEN memory_version_id(p_id_prefix, p_change, e.memory_id) END,
    operation = CASE WHEN e.kind = 'file' THEN 'renamed' END,
    changed_at = p_at, origin = COALESCE(p_origin, e.origin)
  WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_from);
  PERFORM memory_count_change(p_tenant, 0, 0, versions, history_bytes, p_at, NOT p_keeps_history, p_max_history_bytes);
END
$$;
