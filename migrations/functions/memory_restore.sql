-- Changes many files and directories at once, as planned by src/history/plan.ts, which has made sure that the result is a tree. The
-- caller has locked the tenant.
--
-- p_deleted are the paths of files to delete, p_removed and p_made of directories. p_from, p_to and p_content_ids say, for each live file
-- that changes, where it is, where it will be and which content it gets (null: it keeps its own). p_memory_ids, p_added and
-- p_added_content_ids say it for each file that comes back. p_change is a new id, which those of the recorded versions come from.
--
-- Outcomes: unknown_tenant, over_quota {of, used, limit, needed}, restored.
CREATE OR REPLACE FUNCTION memory_restore(
  p_tenant text, p_deleted text[], p_removed text[], p_made text[],
  p_from text[], p_to text[], p_content_ids uuid[],
  p_memory_ids uuid[], p_added text[], p_added_content_ids uuid[],
  p_max_files bigint, p_max_bytes bigint, p_change uuid, p_history_days bigint, p_origin jsonb,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE
-- Joins of many rows with many: without statistics, a nested loop would compare each with each.
SET enable_hashjoin = on SET enable_nestloop = off AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, NULL, NULL, true);
  edited CONSTANT text[] := ARRAY(SELECT c.path FROM unnest(p_from, p_content_ids) AS c (path, id) WHERE c.id IS NOT NULL);
  -- A name that no caller can give, so the moving files are in nobody's way.
  parked CONSTANT text := '/memories/' || chr(1);
  started_at CONSTANT timestamptz := now();
  more_bytes bigint;
  freed_bytes bigint;
  versions bigint := 0;
  history_bytes bigint := 0;
BEGIN
  IF opened.outcome IS NOT NULL THEN
    outcome := opened.outcome;
    RETURN;
  END IF;

  more_bytes := (
    SELECT COALESCE(sum(c.size_bytes), 0) FROM unnest(p_content_ids || p_added_content_ids) AS wanted (id)
    JOIN version_contents AS c ON c.tenant_id = p_tenant AND c.id = wanted.id
  ) - (
    SELECT COALESCE(sum(e.size_bytes), 0) FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = ANY (edited)
  );
  freed_bytes := (
    SELECT COALESCE(sum(e.size_bytes), 0) FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = ANY (p_deleted)
  );
  data := COALESCE(
    memory_exceeded_quota(
      opened.files, COALESCE(opened.max_files, p_max_files), cardinality(p_added) - cardinality(p_deleted),
      opened.bytes, COALESCE(opened.max_bytes, p_max_bytes), more_bytes - freed_bytes
    ),
    memory_exceeded_directories(
      p_tenant, cardinality(array_remove(p_made, '/memories')) - cardinality(p_removed), COALESCE(opened.max_files, p_max_files)
    )
  );
  IF data IS NOT NULL THEN
    outcome := 'over_quota';
    RETURN;
  END IF;

  PERFORM memory_delete_entries(p_tenant, d.path, opened.at, opened.keeps_history, p_change, p_origin)
  FROM unnest(p_deleted) AS d (path);
  IF opened.keeps_history THEN
    SELECT COALESCE(sum(k.versions), 0), COALESCE(sum(k.bytes), 0) INTO versions, history_bytes
    FROM unnest(p_from, p_content_ids) AS c (path, content_id),
      LATERAL memory_keep_versions(p_tenant, c.path, opened.at, c.content_id IS NOT NULL) AS k;
  END IF;
  -- Files may swap paths, or leave a directory that a file replaces: so all that move leave first.
  UPDATE entries AS e SET path = parked || c.item, parent_path = '/memories'
  FROM unnest(p_from, p_to) WITH ORDINALITY AS c (source, destination, item)
  WHERE e.tenant_id = p_tenant AND e.path = c.source AND c.source <> c.destination;
  PERFORM memory_delete_entries(p_tenant, d.path, opened.at, opened.keeps_history, p_change, p_origin)
  FROM unnest(p_removed) AS d (path);

  INSERT INTO entries AS e (tenant_id, path, parent_path, kind, changed_at)
  SELECT p_tenant, d.path, memory_parent(d.path), 'dir', opened.at FROM unnest(p_made) AS d (path);
  UPDATE entries AS e SET
    path = c.destination, parent_path = memory_parent(c.destination),
    content = CASE WHEN c.content_id IS NULL THEN e.content ELSE kept.content END,
    version = memory_version_id(p_change, COALESCE(e.memory_id, e.version)::text),
    updated_at = CASE WHEN c.content_id IS NULL THEN e.updated_at ELSE started_at END,
    memory_id = COALESCE(e.memory_id, e.version), content_id = COALESCE(c.content_id, e.content_id, e.version),
    operation = 'modified', changed_at = opened.at, origin = p_origin
  FROM unnest(p_from, p_to, p_content_ids) WITH ORDINALITY AS c (source, destination, content_id, item)
  LEFT JOIN version_contents AS kept ON kept.tenant_id = p_tenant AND kept.id = c.content_id
  WHERE e.tenant_id = p_tenant AND e.path = CASE WHEN c.source = c.destination THEN c.source ELSE parked || c.item END;
  INSERT INTO entries AS e (
    tenant_id, path, parent_path, kind, content, version, memory_id, content_id, operation, changed_at, origin
  )
  SELECT kept.tenant_id, a.path, memory_parent(a.path), 'file', kept.content, memory_version_id(p_change, a.memory_id::text),
    a.memory_id, a.content_id, 'created', opened.at, p_origin
  FROM unnest(p_memory_ids, p_added, p_added_content_ids) AS a (memory_id, path, content_id)
  JOIN version_contents AS kept ON kept.tenant_id = p_tenant AND kept.id = a.content_id;

  PERFORM memory_count_change(
    p_tenant, cardinality(p_added), more_bytes, versions, history_bytes, opened.at,
    NOT opened.keeps_history AND cardinality(p_from) > 0
  );
  outcome := 'restored';
END
$$;
