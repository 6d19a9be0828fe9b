-- Changes many files and directories at once, as planned by src/history/plan.ts, which has made sure that the result is a tree. The
-- caller has locked the tenant.
--
-- p_deleted are the paths of files to delete, p_removed and p_made of directories. p_from, p_to and p_sources say, for each live file
-- that changes, where it is, where it will be and the version whose content it gets (null: it keeps its own). p_memories, p_added and
-- p_added_sources say it for each file that comes back, or is a copy of a version: then its id is new. p_change is a new random id, which
-- those of the recorded versions come from.
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
  more_bytes bigint := -memory_entry_bytes(p_tenant, edited);
  kept_edited record;
  kept_moved record;
  versions bigint := 0;
  history_bytes bigint := 0;
  memory uuid;
  source text;
  file record;
  directory text;
BEGIN
  IF opened.outcome IS NOT NULL THEN
    outcome := opened.outcome;
    RETURN;
  END IF;

  data := memory_restore_excess(
    p_tenant, p_deleted, p_removed, p_made, p_from, p_sources, p_added, p_added_sources, p_max_files, p_max_bytes
  );
  IF data IS NOT NULL THEN
    outcome := 'over_quota';
    RETURN;
  END IF;

  IF opened.keeps_history THEN
    kept_edited := memory_keep_entries(p_tenant, edited, opened.at, true);
    kept_moved := memory_keep_entries(p_tenant, moved, opened.at, false);
    versions := kept_edited.versions + kept_moved.versions;
    history_bytes := kept_edited.bytes + kept_moved.bytes;
  END IF;
  -- Files may swap paths, or leave a directory that a file replaces: so all that move leave first.
  FOR file IN
    SELECT c.source, parked || c.item AS place FROM unnest(p_from, p_to) WITH ORDINALITY AS c (source, destination, item)
    WHERE c.source <> c.destination
  LOOP
    UPDATE entries AS e SET path = file.place, parent_path = '/memories' WHERE e.tenant_id = p_tenant AND e.path = file.source;
  END LOOP;
  PERFORM memory_delete_entries(
    p_tenant, p_deleted || p_removed, opened.at, opened.id_prefix, opened.keeps_history, p_change, p_origin, NULL
  );

  FOR directory IN SELECT d.path FROM unnest(p_made) AS d (path) ORDER BY d.path COLLATE "C" LOOP
    INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
    VALUES (p_tenant, directory, memory_parent(directory), 'dir', opened.at);
  END LOOP;
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
      more_bytes := more_bytes + octet_length(source);
      UPDATE entries AS e SET
        path = file.destination, parent_path = memory_parent(file.destination), operation = 'modified', content = source,
        version = memory_version_id(opened.id_prefix, p_change, e.memory_id), updated_at = now(), changed_at = opened.at, origin = p_origin
      WHERE e.tenant_id = p_tenant AND e.path = file.place;
    END IF;
  END LOOP;
  FOR file IN
    SELECT a.memory_id, a.path, a.source FROM unnest(p_memories, p_added, p_added_sources) AS a (memory_id, path, source)
  LOOP
    memory := COALESCE(
      (SELECT v.memory_id FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = file.source),
      (SELECT e.memory_id FROM entries AS e WHERE e.tenant_id = p_tenant AND e.version = file.source)
    );
    source := memory_content(p_tenant, memory, file.source);
    more_bytes := more_bytes + octet_length(source);
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

-- The quota that such a change would exceed, or null, as memory_exceeded_quota has it.
CREATE OR REPLACE FUNCTION memory_restore_excess(
  p_tenant text, p_deleted text[], p_removed text[], p_made text[], p_from text[], p_sources uuid[], p_added text[], p_added_sources uuid[],
  p_max_files bigint, p_max_bytes bigint
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
  tenant record;
  max_files bigint;
  edited CONSTANT text[] := ARRAY(SELECT c.path FROM unnest(p_from, p_sources) AS c (path, source) WHERE c.source IS NOT NULL);
  source uuid;
  more_bytes bigint := -memory_entry_bytes(p_tenant, edited || p_deleted);
BEGIN
  SELECT t.file_count, t.max_files, t.byte_count, t.max_bytes INTO tenant FROM tenants AS t WHERE t.id = p_tenant;
  max_files := COALESCE(tenant.max_files, p_max_files);
  FOREACH source IN ARRAY array_remove(p_sources, NULL) || p_added_sources LOOP
    more_bytes := more_bytes + COALESCE(
      (SELECT v.size_bytes FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = source),
      (SELECT e.size_bytes FROM entries AS e WHERE e.tenant_id = p_tenant AND e.version = source), 0
    );
  END LOOP;
  RETURN COALESCE(
    memory_exceeded_quota(
      tenant.file_count, max_files, cardinality(p_added) - cardinality(p_deleted),
      tenant.byte_count, COALESCE(tenant.max_bytes, p_max_bytes), more_bytes
    ),
    memory_exceeded_directories(p_tenant, cardinality(array_remove(p_made, '/memories')) - cardinality(p_removed), max_files)
  );
END
$$;

-- How many bytes the files among p_paths have.
CREATE OR REPLACE FUNCTION memory_entry_bytes(p_tenant text, p_paths text[]) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  entry text;
  bytes bigint := 0;
BEGIN
  FOREACH entry IN ARRAY p_paths LOOP
    bytes := bytes + COALESCE((SELECT e.size_bytes FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = entry), 0);
  END LOOP;
  RETURN bytes;
END
$$;
