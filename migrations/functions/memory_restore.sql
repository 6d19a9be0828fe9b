-- Changes many files and directories at once, as planned by src/history/plan.ts, which has made sure that the result is a tree. The
-- caller has locked the tenant.
--
-- p_deleted are the paths of files to delete, p_removed and p_made of directories. p_from, p_to and p_sources say, for each live file
-- that changes, where it is, where it will be and the version whose content it gets (null: it keeps its own). p_memories, p_added and
-- p_added_sources say it for each file that comes back. p_change is a new random id, which those of the recorded versions come from.
--
-- Outcomes: unknown_tenant, over_quota {of, used, limit, needed}, restored.
CREATE OR REPLACE FUNCTION memory_restore(
  p_tenant text, p_deleted text[], p_removed text[], p_made text[],
  p_from text[], p_to text[], p_sources uuid[],
  p_memories uuid[], p_added text[], p_added_sources uuid[],
  p_change uuid, p_origin jsonb, p_max_files bigint, p_max_bytes bigint, p_history_days bigint, p_max_history_bytes bigint,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, NULL, NULL, true);
  edited CONSTANT text[] := ARRAY(SELECT c.path FROM unnest(p_from, p_sources) AS c (path, source) WHERE c.source IS NOT NULL);
  moved CONSTANT text[] := ARRAY(SELECT c.path FROM unnest(p_from, p_sources) AS c (path, source) WHERE c.source IS NULL);
  -- A name that no caller can give, so the moving files are in nobody's way.
  parked CONSTANT text := '/memories/' || chr(1);
  more_bytes bigint;
  freed_bytes bigint;
  kept_edited record;
  kept_moved record;
  versions bigint := 0;
  history_bytes bigint := 0;
  memory uuid;
  source text;
  file record;
BEGIN
  IF opened.outcome IS NOT NULL THEN
    outcome := opened.outcome;
    RETURN;
  END IF;

  more_bytes := (
    SELECT COALESCE(sum(v.size_bytes), 0) FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = ANY (p_sources || p_added_sources)
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

  IF opened.keeps_history THEN
    kept_edited := memory_keep_heads(p_tenant, edited, opened.at, true);
    kept_moved := memory_keep_heads(p_tenant, moved, opened.at, false);
    versions := kept_edited.versions + kept_moved.versions;
    history_bytes := kept_edited.bytes + kept_moved.bytes;
  END IF;
  -- Files may swap paths, or leave a directory that a file replaces: so all that move leave first.
  UPDATE entries AS e SET path = parked || c.item, parent_path = '/memories'
  FROM unnest(p_from, p_to) WITH ORDINALITY AS c (source, destination, item)
  WHERE e.tenant_id = p_tenant AND e.path = c.source AND c.source <> c.destination;
  PERFORM memory_delete_entries(
    p_tenant, p_deleted || p_removed, opened.at, opened.id_prefix, opened.keeps_history, p_change, p_origin, NULL
  );

  INSERT INTO entries AS e (tenant_id, path, parent_path, kind, changed_at)
  SELECT p_tenant, d.path, memory_parent(d.path), 'dir', opened.at FROM unnest(p_made) AS d (path);
  FOR file IN
    SELECT c.destination, c.source, CASE WHEN c.origin = c.destination THEN c.origin ELSE parked || c.item END AS place
    FROM unnest(p_from, p_to, p_sources) WITH ORDINALITY AS c (origin, destination, source, item)
  LOOP
    IF file.source IS NULL THEN
      UPDATE entries AS e SET
        path = file.destination, parent_path = memory_parent(file.destination), operation = 'renamed',
        version = memory_version_id(opened.id_prefix, p_change, e.memory_id), changed_at = opened.at, origin = p_origin
      WHERE e.tenant_id = p_tenant AND e.path = file.place;
    ELSE
      memory := (SELECT v.memory_id FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = file.source);
      source := memory_content(p_tenant, memory, file.source);
      UPDATE entries AS e SET
        path = file.destination, parent_path = memory_parent(file.destination), operation = 'modified', content = source,
        version = memory_version_id(opened.id_prefix, p_change, e.memory_id), updated_at = now(), changed_at = opened.at, origin = p_origin
      WHERE e.tenant_id = p_tenant AND e.path = file.place;
    END IF;
  END LOOP;
  FOR file IN
    SELECT a.memory_id, a.path, a.source FROM unnest(p_memories, p_added, p_added_sources) AS a (memory_id, path, source)
  LOOP
    source := memory_content(p_tenant, file.memory_id, file.source);
    INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at, origin)
    VALUES (
      p_tenant, file.path, memory_parent(file.path), 'file', source, memory_version_id(opened.id_prefix, p_change, file.memory_id),
      file.memory_id, 'created', opened.at, p_origin
    );
  END LOOP;

  PERFORM memory_count_change(
    p_tenant, cardinality(p_added), more_bytes, versions, history_bytes, opened.at,
    NOT opened.keeps_history AND cardinality(p_from) > 0, p_max_history_bytes
  );
  outcome := 'restored';
END
$$;
