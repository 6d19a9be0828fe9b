-- Changes many files and directories in a memory as one change, planned by src/core/history/restore-plan.ts, which
-- guarantees that the result is a tree. A transaction that has locked the tenant calls this function once or more. All
-- calls have the change's time (memory_begin_change) and the same new random ID p_change.
--
-- The first call creates versions, deletes entries, and creates directories. Each call writes a batch of files, which
-- bounds the call size. The last call has p_max_history_bytes, and prunes the history's excess.
--
-- - p_edited: paths of existing files whose content changes
-- - p_moved: paths of existing files where only the path changes
-- - p_leaving: paths of files in either list whose path changes
-- - p_deleted: file paths to delete
-- - p_deleted_by: origin index in p_origins, for each path in p_deleted
-- - p_removed: directory paths to delete
-- - p_made: directory paths to create
-- - p_memories: IDs of existing and new files to write, with an element for each in the arrays below
-- - p_paths: new paths
-- - p_contents: new contents, or null
-- - p_versions: versions whose content to copy, or null (if both are null, the content is unchanged)
-- - p_origin_of: origin index in p_origins
--
-- Array elements are assigned to variables before use, because an array element in a statement can crash Citus.
CREATE OR REPLACE FUNCTION memory_change(
  p_tenant text, p_at timestamptz, p_change uuid, p_edited text[], p_moved text[], p_leaving text[],
  p_deleted text[], p_deleted_by integer[], p_removed text[], p_made text[],
  p_memories uuid[], p_paths text[], p_contents text[], p_versions uuid[], p_origin_of integer[], p_origins jsonb[],
  p_history_days bigint, p_max_history_bytes bigint
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  id_prefix CONSTANT text := memory_id_prefix(p_at);
  keeps_history CONSTANT boolean := COALESCE((SELECT t.history_days FROM tenants AS t WHERE t.id = p_tenant), p_history_days) > 0;
  kept record;
  versions bigint := 0;
  history_bytes bigint := 0;
  files bigint := 0;
  bytes bigint := 0;
  paths text[];
  entry text;
  memory uuid;
  new_path text;
  new_parent text;
  new_content text;
  new_version uuid;
  new_origin jsonb;
  source uuid;
  size_before integer;
  is_restored boolean := false;
BEGIN
  IF keeps_history THEN
    kept := memory_keep_entries(p_tenant, p_edited, p_at, true);
    versions := kept.versions;
    history_bytes := kept.bytes;
    kept := memory_keep_entries(p_tenant, p_moved, p_at, false);
    versions := versions + kept.versions;
    history_bytes := history_bytes + kept.bytes;
  ELSE
    history_bytes := memory_lose_entries(p_tenant, p_edited);
  END IF;
  -- Files may swap paths, or leave a directory that is replaced by a file. All moving files are therefore first moved
  -- to temporary paths, which no caller can name.
  FOREACH entry IN ARRAY p_leaving LOOP
    UPDATE entries AS e SET path = '/memories/' || chr(1) || e.memory_id::text, parent_path = '/memories'
    WHERE e.tenant_id = p_tenant AND e.path = entry;
  END LOOP;
  IF cardinality(p_deleted) > 0 THEN
    FOR i IN 1..cardinality(p_origins) LOOP
      paths := ARRAY(SELECT d.path FROM unnest(p_deleted, p_deleted_by) AS d (path, origin) WHERE d.origin = i);
      CONTINUE WHEN cardinality(paths) = 0;
      new_origin := p_origins[i];
      PERFORM memory_delete_entries(p_tenant, paths, p_at, id_prefix, keeps_history, p_change, new_origin, NULL);
    END LOOP;
  END IF;
  IF cardinality(p_removed) > 0 THEN
    PERFORM memory_delete_entries(p_tenant, p_removed, p_at, id_prefix, keeps_history, p_change, NULL, NULL);
  END IF;
  FOR entry IN SELECT d.path FROM unnest(p_made) AS d (path) ORDER BY d.path COLLATE "C" LOOP
    INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
    VALUES (p_tenant, entry, memory_parent(entry), 'dir', p_at);
  END LOOP;
  IF '/memories' = ANY (p_made) THEN
    PERFORM memory_bind_root(p_tenant);
  END IF;

  FOR i IN 1..cardinality(p_memories) LOOP
    memory := p_memories[i];
    new_path := p_paths[i];
    new_parent := memory_parent(new_path);
    new_content := p_contents[i];
    new_version := memory_version_id(id_prefix, p_change, memory);
    new_origin := p_origins[p_origin_of[i]];
    source := p_versions[i];
    IF new_content IS NULL AND source IS NULL THEN
      UPDATE entries AS e SET
        path = new_path, parent_path = new_parent, operation = 'renamed', version = new_version, changed_at = p_at, origin = new_origin
      WHERE e.tenant_id = p_tenant AND e.memory_id = memory;
      CONTINUE;
    END IF;
    IF new_content IS NULL THEN
      new_content := memory_content(p_tenant, memory_of_version(p_tenant, source), source);
    END IF;
    SELECT e.size_bytes INTO size_before FROM entries AS e WHERE e.tenant_id = p_tenant AND e.memory_id = memory;
    IF FOUND THEN
      UPDATE entries AS e SET
        path = new_path, parent_path = new_parent, operation = 'modified', content = new_content, version = new_version,
        updated_at = p_at, changed_at = p_at, origin = new_origin
      WHERE e.tenant_id = p_tenant AND e.memory_id = memory;
      bytes := bytes + octet_length(new_content) - size_before;
    ELSE
      INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at, origin)
      VALUES (p_tenant, new_path, new_parent, 'file', new_content, new_version, memory, 'created', p_at, new_origin);
      files := files + 1;
      bytes := bytes + octet_length(new_content);
      is_restored := is_restored OR memory <> new_version;
    END IF;
  END LOOP;
  PERFORM memory_count_change(
    p_tenant, files, bytes, versions, history_bytes, p_at,
    NOT keeps_history AND cardinality(p_edited || p_moved) > 0, p_max_history_bytes
  );
  IF is_restored THEN
    UPDATE tenants AS t SET restored_at = p_at WHERE t.id = p_tenant;
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION memory_of_version(p_tenant text, p_version uuid) RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN COALESCE(
    (SELECT v.memory_id FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = p_version),
    (SELECT e.memory_id FROM entries AS e WHERE e.tenant_id = p_tenant AND e.version = p_version)
  );
END
$$;
