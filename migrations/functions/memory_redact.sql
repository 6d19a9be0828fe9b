-- Removes path and content of a superseded version for good, and of every other version with that content. Past directories above their
-- paths that no longer hold anything go as well, because their names are part of a path. What is redacted already stays as it is.
--
-- Returns how many versions that were, how many others still have one of the paths, and the outcome:
--   missing   there is no such tenant or version
--   live      the version is a head, or the live file with the head `head` still has the content
--   redacted  at `redacted_at`, which is earlier if the version was redacted before
CREATE OR REPLACE FUNCTION memory_redact(
  p_tenant text, p_version uuid, p_by jsonb,
  OUT outcome text, OUT head uuid, OUT versions bigint, OUT same_path bigint, OUT redacted_at timestamptz
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  version record;
  paths text[];
  emptied text[];
  content_bytes bigint := 0;
  directories bigint := 0;
BEGIN
  versions := 0;
  same_path := 0;
  PERFORM memory_hold_shard(p_tenant);
  PERFORM FROM tenants AS t WHERE t.id = p_tenant FOR NO KEY UPDATE;
  SELECT v.content_id, v.superseded_at, v.redacted_at INTO version
  FROM memory_versions AS v WHERE v.tenant_id = p_tenant AND v.id = p_version;
  IF NOT FOUND THEN
    outcome := 'missing';
    RETURN;
  ELSIF version.redacted_at IS NOT NULL THEN
    outcome := 'redacted';
    redacted_at := version.redacted_at;
    RETURN;
  END IF;
  SELECT h.id INTO head FROM memory_heads AS h
  WHERE h.tenant_id = p_tenant AND (h.id = p_version OR h.content_id = version.content_id) LIMIT 1;
  IF head IS NOT NULL THEN
    outcome := 'live';
    RETURN;
  END IF;

  redacted_at := clock_timestamp();
  paths := ARRAY(
    SELECT DISTINCT v.path FROM versions AS v
    WHERE v.tenant_id = p_tenant AND (v.id = p_version OR v.content_id = version.content_id)
  );
  WITH redacted AS (
    UPDATE versions AS v SET
      path = NULL, content_id = NULL, size_bytes = NULL, redacted_at = memory_redact.redacted_at, redacted_by = p_by
    WHERE v.tenant_id = p_tenant AND (v.id = p_version OR v.content_id = version.content_id)
    RETURNING v.id
  )
  SELECT count(*) INTO versions FROM redacted AS r;
  IF version.content_id IS NOT NULL THEN
    WITH erased AS (
      DELETE FROM version_contents AS c WHERE c.tenant_id = p_tenant AND c.id = version.content_id RETURNING c.size_bytes
    )
    SELECT COALESCE(sum(x.size_bytes), 0) INTO content_bytes FROM erased AS x;
  END IF;

  emptied := ARRAY(
    SELECT DISTINCT a.path
    FROM unnest(paths) AS p (path), unnest(array_remove(memory_ancestors(p.path), '/memories') || p.path) AS a (path)
    WHERE NOT EXISTS (SELECT FROM versions AS v WHERE v.tenant_id = p_tenant AND memory_in_subtree(v.path, a.path))
      AND NOT EXISTS (SELECT FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, a.path))
  );
  DELETE FROM past_directories AS d
  WHERE d.tenant_id = p_tenant AND EXISTS (SELECT FROM unnest(emptied) AS e (path) WHERE memory_in_subtree(d.path, e.path));
  GET DIAGNOSTICS directories = ROW_COUNT;
  SELECT count(*) INTO same_path FROM versions AS v WHERE v.tenant_id = p_tenant AND v.path = ANY (paths);

  UPDATE tenants AS t SET history_bytes = t.history_bytes - content_bytes - directories * memory_history_row_bytes()
  WHERE t.id = p_tenant;
  outcome := 'redacted';
END
$$;
