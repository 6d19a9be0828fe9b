-- Changes many files and directories at once, as planned by src/drafts/plan.ts, which has made sure that the result is a tree: first
-- memory_merge_clear, then memory_merge_write once or more, with a part of the files each, so that no call holds many contents. All are in one
-- transaction that has locked the tenant, and have the time of its change (memory_begin_change) and a new random id p_change.

-- Keeps what is about to be replaced, takes away what is deleted or moves, and makes the directories. p_edited and p_moved are the ids of the live
-- files that get another content, or only another path; p_leaving of those among both that get another path, which wait at a place that no
-- caller can name. p_deleted are the paths of files, each by the origin in p_origins that p_deleted_by says.
CREATE OR REPLACE FUNCTION memory_merge_clear(
  p_tenant text, p_at timestamptz, p_keeps_history boolean, p_change uuid, p_edited uuid[], p_moved uuid[], p_leaving uuid[],
  p_deleted text[], p_deleted_by integer[], p_removed text[], p_made text[], p_origins jsonb[]
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  id_prefix CONSTANT text := memory_id_prefix(p_at);
  paths text[];
  kept record;
  versions bigint := 0;
  history_bytes bigint := 0;
  memory uuid;
  directory text;
BEGIN
  IF p_keeps_history THEN
    paths := memory_paths_of(p_tenant, p_edited);
    kept := memory_keep_entries(p_tenant, paths, p_at, true);
    versions := kept.versions;
    history_bytes := kept.bytes;
    paths := memory_paths_of(p_tenant, p_moved);
    kept := memory_keep_entries(p_tenant, paths, p_at, false);
    versions := versions + kept.versions;
    history_bytes := history_bytes + kept.bytes;
  END IF;
  FOREACH memory IN ARRAY p_leaving LOOP
    UPDATE entries AS e SET path = '/memories/' || chr(1) || memory::text, parent_path = '/memories'
    WHERE e.tenant_id = p_tenant AND e.memory_id = memory;
  END LOOP;
  FOR i IN 1..cardinality(p_origins) LOOP
    paths := ARRAY(SELECT d.path FROM unnest(p_deleted, p_deleted_by) AS d (path, origin) WHERE d.origin = i);
    IF cardinality(paths) > 0 THEN
      PERFORM memory_delete_entries(p_tenant, paths, p_at, id_prefix, p_keeps_history, p_change, p_origins[i], NULL);
    END IF;
  END LOOP;
  IF cardinality(p_removed) > 0 THEN
    PERFORM memory_delete_entries(p_tenant, p_removed, p_at, id_prefix, p_keeps_history, p_change, NULL, NULL);
  END IF;
  FOR directory IN SELECT d.path FROM unnest(p_made) AS d (path) ORDER BY d.path COLLATE "C" LOOP
    INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
    VALUES (p_tenant, directory, memory_parent(directory), 'dir', p_at);
  END LOOP;
  PERFORM memory_count_change(
    p_tenant, 0, 0, versions, history_bytes, p_at, NOT p_keeps_history AND cardinality(p_edited || p_moved) > 0, NULL
  );
END
$$;

-- Puts files where they belong: the live ones among p_memories, and new ones. A null content is the one that the file has. Statements
-- get elements of arrays as variables: an element of an array in a statement can crash Citus.
CREATE OR REPLACE FUNCTION memory_merge_write(
  p_tenant text, p_at timestamptz, p_change uuid, p_memories uuid[], p_paths text[], p_contents text[], p_origin_of integer[],
  p_origins jsonb[], p_max_history_bytes bigint
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  id_prefix CONSTANT text := memory_id_prefix(p_at);
  files bigint := 0;
  bytes bigint := 0;
  memory uuid;
  new_path text;
  new_parent text;
  new_content text;
  new_version uuid;
  new_origin jsonb;
  size_before integer;
BEGIN
  FOR i IN 1..cardinality(p_memories) LOOP
    memory := p_memories[i];
    new_path := p_paths[i];
    new_parent := memory_parent(new_path);
    new_content := p_contents[i];
    new_version := memory_version_id(id_prefix, p_change, memory);
    new_origin := p_origins[p_origin_of[i]];
    SELECT e.size_bytes INTO size_before FROM entries AS e WHERE e.tenant_id = p_tenant AND e.memory_id = memory;
    IF NOT FOUND THEN
      INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at, origin)
      VALUES (p_tenant, new_path, new_parent, 'file', new_content, new_version, memory, 'created', p_at, new_origin);
      files := files + 1;
      bytes := bytes + octet_length(new_content);
    ELSIF new_content IS NULL THEN
      UPDATE entries AS e SET
        path = new_path, parent_path = new_parent, operation = 'renamed', version = new_version, changed_at = p_at, origin = new_origin
      WHERE e.tenant_id = p_tenant AND e.memory_id = memory;
    ELSE
      UPDATE entries AS e SET
        path = new_path, parent_path = new_parent, operation = 'modified', content = new_content, version = new_version,
        updated_at = p_at, changed_at = p_at, origin = new_origin
      WHERE e.tenant_id = p_tenant AND e.memory_id = memory;
      bytes := bytes + octet_length(new_content) - size_before;
    END IF;
  END LOOP;
  PERFORM memory_count_change(p_tenant, files, bytes, 0, 0, p_at, false, p_max_history_bytes);
END
$$;

-- Where the live files with these ids are.
CREATE OR REPLACE FUNCTION memory_paths_of(p_tenant text, p_memories uuid[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
  paths text[] := '{}';
  memory uuid;
  found_path text;
BEGIN
  FOREACH memory IN ARRAY p_memories LOOP
    SELECT e.path INTO found_path FROM entries AS e WHERE e.tenant_id = p_tenant AND e.memory_id = memory;
    paths := array_append(paths, found_path);
  END LOOP;
  RETURN paths;
END
$$;
