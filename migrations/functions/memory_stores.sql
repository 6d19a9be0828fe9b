-- Writes for the Memory Stores API (src/features/memory-stores), which identifies a file by its memory_id and has no
-- directories. A directory without files is removed if its path is needed.
--
-- After a success, data has the format of memory_store_item. Common outcomes, in addition to memory_open_write:
--
-- - archived
-- - precondition_failed: the content does not have the SHA-256 p_expected, in hexadecimal
-- - conflict {path, memoryId}: a file is at the path, above it, or below it
-- - over_quota {of, used, limit, needed}

-- Creates a file. p_version is a random ID: see memory_version_id. Outcomes: conflict, over_quota, created.
CREATE OR REPLACE FUNCTION memory_store_create(
  p_tenant text, p_path text, p_content text, p_version uuid, p_origin jsonb, p_with_content boolean,
  p_max_files bigint, p_max_bytes bigint, p_history_days bigint, p_max_history_bytes bigint, p_wait boolean, p_created_at timestamptz DEFAULT NULL,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, NULL, NULL, p_wait, p_created_at, p_if_archived => 'archived');
BEGIN
  outcome := opened.outcome;
  data := opened.data;
  IF outcome IS NOT NULL THEN
    RETURN;
  END IF;
  data := memory_store_conflict(p_tenant, p_path, NULL);
  IF data IS NOT NULL THEN
    outcome := 'conflict';
    RETURN;
  END IF;
  -- The quota is checked before a directory is removed. After that, memory_create cannot exceed another quota, because
  -- the path has no missing ancestors.
  data := memory_exceeded_quota(
    opened.files, COALESCE(opened.max_files, p_max_files), 1, opened.bytes, COALESCE(opened.max_bytes, p_max_bytes), octet_length(p_content)
  );
  IF data IS NOT NULL THEN
    outcome := 'over_quota';
    RETURN;
  END IF;
  PERFORM memory_store_clear(p_tenant, p_path, opened.at, opened.id_prefix, opened.keeps_history, p_max_history_bytes);
  SELECT c.outcome, c.data INTO outcome, data
  FROM memory_create(
    p_tenant, p_path, p_content, p_version, false, p_origin, NULL, NULL, NULL, p_max_files, p_max_bytes, true
  ) AS c;
  IF outcome = 'created' THEN
    data := memory_store_item(p_tenant, p_path, p_with_content);
  END IF;
END
$$;

-- Changes a file's path or content, or both, in one version. Null keeps the path or the content. p_change is a random
-- ID: see memory_version_id. p_max_file_bytes limits the content, unless the content shrinks. If the file already has
-- the requested path and content, the outcome is `unchanged`, and p_expected is not checked.
--
-- Outcomes: missing, unchanged, precondition_failed, too_large, conflict, over_quota, updated.
CREATE OR REPLACE FUNCTION memory_store_update(
  p_tenant text, p_memory uuid, p_path text, p_content text, p_expected text, p_max_file_bytes bigint, p_change uuid, p_origin jsonb,
  p_with_content boolean,
  p_max_files bigint, p_max_bytes bigint, p_history_days bigint, p_max_history_bytes bigint, p_wait boolean, p_created_at timestamptz DEFAULT NULL,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, NULL, NULL, p_wait, p_created_at, p_if_archived => 'archived');
  file record;
  new_path text;
  is_moved boolean;
  is_edited boolean;
  more_bytes bigint;
  kept_bytes bigint := 0;
BEGIN
  outcome := opened.outcome;
  data := opened.data;
  IF outcome IS NOT NULL THEN
    RETURN;
  END IF;
  SELECT e.path, e.version, e.memory_id, e.operation, e.changed_at, e.origin, e.size_bytes, e.content INTO file
  FROM entries AS e WHERE e.tenant_id = p_tenant AND e.memory_id = p_memory;
  IF NOT FOUND THEN
    outcome := 'missing';
    RETURN;
  END IF;
  new_path := COALESCE(p_path, file.path);
  is_moved := new_path <> file.path;
  is_edited := p_content <> file.content IS TRUE;
  more_bytes := CASE WHEN is_edited THEN octet_length(p_content) - file.size_bytes ELSE 0 END;
  IF NOT is_moved AND NOT is_edited THEN
    outcome := 'unchanged';
    data := memory_store_item(p_tenant, new_path, p_with_content);
    RETURN;
  ELSIF encode(memory_sha256(file.content), 'hex') <> p_expected THEN
    outcome := 'precondition_failed';
    RETURN;
  ELSIF more_bytes > 0 AND octet_length(p_content) > NULLIF(p_max_file_bytes, 0) THEN
    outcome := 'too_large';
    RETURN;
  END IF;
  IF is_moved THEN
    data := memory_store_conflict(p_tenant, new_path, p_memory);
    IF data IS NOT NULL THEN
      outcome := 'conflict';
      RETURN;
    END IF;
  END IF;
  data := memory_exceeded_quota(0, 0, 0, opened.bytes, COALESCE(opened.max_bytes, p_max_bytes), more_bytes);
  IF data IS NULL AND is_moved THEN
    -- Moves the file to a temporary path first, which no caller can name: a file may become a child of a directory at
    -- its own path, or the reverse.
    UPDATE entries AS e SET path = '/memories/' || chr(1), parent_path = '/memories' WHERE e.tenant_id = p_tenant AND e.path = file.path;
    data := memory_make_directories(p_tenant, new_path, COALESCE(opened.max_files, p_max_files), opened.at);
    UPDATE entries AS e SET path = file.path, parent_path = memory_parent(file.path)
    WHERE e.tenant_id = p_tenant AND e.path = '/memories/' || chr(1) AND data IS NOT NULL;
  END IF;
  IF data IS NOT NULL THEN
    outcome := 'over_quota';
    RETURN;
  END IF;

  IF is_moved THEN
    PERFORM memory_store_clear(p_tenant, new_path, opened.at, opened.id_prefix, opened.keeps_history, p_max_history_bytes);
  END IF;
  IF opened.keeps_history THEN
    kept_bytes := memory_store_keep(p_tenant, file.path, file, CASE WHEN is_edited THEN p_content ELSE file.content END, opened.at);
  ELSIF is_edited THEN
    kept_bytes := memory_make_whole(p_tenant, file.memory_id, ARRAY[file.version]);
  END IF;
  UPDATE entries AS e SET
    path = new_path, parent_path = memory_parent(new_path), content = COALESCE(p_content, e.content),
    version = memory_version_id(opened.id_prefix, p_change), operation = CASE WHEN is_edited THEN 'modified' ELSE 'renamed' END,
    updated_at = now(), changed_at = opened.at, origin = p_origin
  WHERE e.tenant_id = p_tenant AND e.path = CASE WHEN is_moved THEN '/memories/' || chr(1) ELSE file.path END;
  PERFORM memory_count_change(
    p_tenant, 0, more_bytes, CASE WHEN opened.keeps_history THEN 1 ELSE 0 END, kept_bytes, opened.at, NOT opened.keeps_history,
    p_max_history_bytes
  );
  IF memory_nears(opened.bytes, more_bytes, COALESCE(opened.max_bytes, p_max_bytes)) THEN
    PERFORM memory_record_near_limits(
      p_tenant, opened.files, opened.max_files, opened.bytes, opened.max_bytes, p_max_files, p_max_bytes, p_origin -> 'actor'
    );
  END IF;
  outcome := 'updated';
  data := memory_store_item(p_tenant, new_path, p_with_content);
END
$$;

-- Deletes a file. Outcomes: missing, precondition_failed, deleted.
CREATE OR REPLACE FUNCTION memory_store_delete(
  p_tenant text, p_memory uuid, p_expected text, p_change uuid, p_origin jsonb,
  p_history_days bigint, p_max_history_bytes bigint, p_wait boolean, p_created_at timestamptz DEFAULT NULL,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, NULL, NULL, p_wait, p_created_at);
  file record;
BEGIN
  outcome := opened.outcome;
  data := opened.data;
  IF outcome IS NOT NULL THEN
    RETURN;
  END IF;
  SELECT e.path, e.content INTO file FROM entries AS e WHERE e.tenant_id = p_tenant AND e.memory_id = p_memory;
  IF NOT FOUND THEN
    outcome := 'missing';
  ELSIF encode(memory_sha256(file.content), 'hex') <> p_expected THEN
    outcome := 'precondition_failed';
  ELSE
    PERFORM memory_delete_entries(
      p_tenant, ARRAY[file.path], opened.at, opened.id_prefix, opened.keeps_history, p_change, p_origin, p_max_history_bytes
    );
    outcome := 'deleted';
  END IF;
END
$$;

-- Returns the first file, other than p_memory, that conflicts with a file at p_path: at the path, above it, or below
-- it.
CREATE OR REPLACE FUNCTION memory_store_conflict(p_tenant text, p_path text, p_memory uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
  other record;
BEGIN
  SELECT e.path, e.memory_id INTO other FROM entries AS e
  WHERE e.tenant_id = p_tenant AND e.path = ANY (memory_ancestors(p_path)) AND e.kind = 'file' AND e.memory_id IS DISTINCT FROM p_memory;
  IF NOT FOUND THEN
    SELECT e.path, e.memory_id INTO other FROM entries AS e
    WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_path) AND e.kind = 'file' AND e.memory_id IS DISTINCT FROM p_memory
    ORDER BY e.path LIMIT 1;
  END IF;
  RETURN CASE WHEN other.path IS NOT NULL THEN jsonb_build_object('path', other.path, 'memoryId', other.memory_id) END;
END
$$;

-- Removes the directories at or below p_path, which contain no files, in a change at p_at.
CREATE OR REPLACE FUNCTION memory_store_clear(
  p_tenant text, p_path text, p_at timestamptz, p_id_prefix text, p_keeps_history boolean, p_max_history_bytes bigint
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  paths CONSTANT text[] := ARRAY(SELECT e.path FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_path));
BEGIN
  IF cardinality(paths) > 0 THEN
    PERFORM memory_delete_entries(p_tenant, paths, p_at, p_id_prefix, p_keeps_history, NULL, NULL, p_max_history_bytes);
  END IF;
END
$$;

-- Records a file's current version before a change to its content or path at p_at, in the same way as memory_write.
-- Returns the history's growth in bytes.
CREATE OR REPLACE FUNCTION memory_store_keep(p_tenant text, p_path text, p_file record, p_content text, p_at timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  old_bytes CONSTANT bytea := convert_to(p_file.content, 'UTF8');
  splice CONSTANT record := memory_splice(old_bytes, convert_to(p_content, 'UTF8'));
  is_whole CONSTANT boolean := splice.removed > 0 AND (splice.removed >= p_file.size_bytes OR memory_is_whole(p_file.version));
  kept CONSTANT text := CASE
    WHEN is_whole THEN p_file.content
    ELSE convert_from(substring(old_bytes FROM splice.start + 1 FOR splice.removed), 'UTF8')
  END;
  kept_bytes CONSTANT bigint := memory_version_bytes(p_tenant, p_path, p_file.origin, kept);
BEGIN
  INSERT INTO versions (
    tenant_id, id, memory_id, operation, path, created_at, superseded_at, origin, size_bytes, content_sha256,
    splice_start, splice_length, content, bytes
  )
  VALUES (
    p_tenant, p_file.version, p_file.memory_id, p_file.operation, p_path, p_file.changed_at, p_at, p_file.origin, p_file.size_bytes,
    sha256(old_bytes), CASE WHEN NOT is_whole THEN splice.start END, CASE WHEN NOT is_whole THEN splice.added END, kept, kept_bytes
  );
  RETURN kept_bytes;
END
$$;

-- Finds the shortest byte range in p_old whose replacement gives p_new. The range starts and ends at character
-- boundaries. `added` is the replacement's length in p_new.
CREATE OR REPLACE FUNCTION memory_splice(p_old bytea, p_new bytea, OUT start integer, OUT removed integer, OUT added integer)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  old_length CONSTANT integer := octet_length(p_old);
  new_length CONSTANT integer := octet_length(p_new);
  most integer := LEAST(old_length, new_length);
  tail integer := 0;
  middle integer;
BEGIN
  -- Binary search for the common prefix length: the first `start` bytes are equal, and at most `most` bytes can be.
  start := 0;
  WHILE start < most LOOP
    middle := (start + most + 1) / 2;
    IF substring(p_old FROM start + 1 FOR middle - start) = substring(p_new FROM start + 1 FOR middle - start) THEN
      start := middle;
    ELSE
      most := middle - 1;
    END IF;
  END LOOP;
  WHILE start > 0 AND (memory_is_continuation(p_old, start) OR memory_is_continuation(p_new, start)) LOOP
    start := start - 1;
  END LOOP;
  most := LEAST(old_length, new_length) - start;
  WHILE tail < most LOOP
    middle := (tail + most + 1) / 2;
    IF substring(p_old FROM old_length - middle + 1 FOR middle - tail) = substring(p_new FROM new_length - middle + 1 FOR middle - tail) THEN
      tail := middle;
    ELSE
      most := middle - 1;
    END IF;
  END LOOP;
  WHILE tail > 0 AND memory_is_continuation(p_old, old_length - tail) LOOP
    tail := tail - 1;
  END LOOP;
  removed := old_length - tail - start;
  added := new_length - tail - start;
END
$$;

-- Whether the byte at p_offset, from 0, continues a UTF-8 character.
CREATE OR REPLACE FUNCTION memory_is_continuation(p_text bytea, p_offset integer) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT p_offset < octet_length(p_text) AND get_byte(p_text, p_offset) & 192 = 128
$$;

-- Returns the file at a path in the API's format.
CREATE OR REPLACE FUNCTION memory_store_item(p_tenant text, p_path text, p_with_content boolean) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT jsonb_build_object(
      'memoryId', e.memory_id, 'versionId', e.version, 'path', e.path, 'sizeBytes', e.size_bytes,
      'sha256', encode(memory_sha256(e.content), 'hex'), 'createdAt', memory_time(e.created_at), 'updatedAt', memory_time(e.changed_at),
      'content', CASE WHEN p_with_content THEN e.content END
    )
    FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = p_path
  );
END
$$;

-- Formats a time in the same way as src/core/database/query.ts.
CREATE OR REPLACE FUNCTION memory_time(p_at timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
