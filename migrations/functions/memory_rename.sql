-- Moves a file, or a directory with all below it, and makes the directories above the destination that are missing.
--
-- Outcomes beside those of memory_begin_write, in the order of the contract (docs/contract.md, section 2): destination_exists,
-- source_missing, inside_itself, not_a_directory {path}, too_long {path}, over_quota {of, used, limit, needed}, renamed. too_long names the first path that would
-- exceed p_max_path_bytes, or be more than p_max_depth levels below the root.
CREATE OR REPLACE FUNCTION memory_rename(
  p_tenant text, p_from text, p_to text, p_max_path_bytes integer, p_max_depth integer,
  p_max_files bigint,
  p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  begun CONSTANT record := memory_begin_write(p_tenant, p_key_hash, p_request_hash, p_wait);
  problem_path text;
BEGIN
  IF begun.outcome IS NOT NULL THEN
    outcome := CASE begun.outcome WHEN 'unknown_tenant' THEN 'source_missing' ELSE begun.outcome END;
    data := begun.data;
    RETURN;
  END IF;

  PERFORM FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = p_to;
  IF FOUND THEN
    outcome := 'destination_exists';
    RETURN;
  END IF;
  PERFORM FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = p_from;
  IF NOT FOUND THEN
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
    SELECT p_to || substr(e.path, length(p_from) + 1) COLLATE "C" AS path
    FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_from)
  ) AS m
  WHERE octet_length(m.path) > p_max_path_bytes
    OR length(m.path) - length(replace(m.path, '/', '')) - 1 > p_max_depth;
  IF problem_path IS NOT NULL THEN
    outcome := 'too_long';
    data := jsonb_build_object('path', problem_path);
    RETURN;
  END IF;

  data := memory_make_directories(p_tenant, p_to, COALESCE(begun.max_files, p_max_files));
  IF data IS NOT NULL THEN
    outcome := 'over_quota';
    RETURN;
  END IF;
  UPDATE entries AS e SET
    path = p_to || substr(e.path, length(p_from) + 1),
    parent_path = CASE WHEN e.path = p_from THEN memory_parent(p_to)
      ELSE p_to || substr(e.parent_path, length(p_from) + 1) END
  WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_from);
  IF p_key_hash IS NOT NULL THEN
    PERFORM memory_store_answer(p_tenant, p_key_hash, p_request_hash, p_answer, false);
  END IF;
  outcome := 'renamed';
END
$$;
