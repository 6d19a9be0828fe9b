-- What is recorded of each change (docs/design.md, History). The caller of a function has locked the tenant.

-- The head versions: the live files. The one place that says what null means in the columns of `entries` about versions: the file was
-- created as this version, alone with its content; of a file from before there was a history, its last change is the version.
CREATE OR REPLACE VIEW memory_heads AS
SELECT e.tenant_id, e.version AS id, COALESCE(e.memory_id, e.version) AS memory_id, COALESCE(e.operation, 'created') AS operation,
  e.path, COALESCE(e.content_id, e.version) AS content_id, e.content, e.size_bytes,
  COALESCE(e.changed_at, GREATEST(e.created_at, e.updated_at)) AS created_at, e.origin
FROM entries AS e WHERE e.kind = 'file';

-- All versions; of a head, superseded_at is null.
CREATE OR REPLACE VIEW memory_versions AS
SELECT h.tenant_id, h.id, h.memory_id, h.operation, h.path, h.content_id, h.size_bytes, h.created_at,
  NULL::timestamptz AS superseded_at, h.origin, NULL::timestamptz AS redacted_at, NULL::jsonb AS redacted_by
FROM memory_heads AS h
UNION ALL
SELECT v.tenant_id, v.id, v.memory_id, v.operation, v.path, v.content_id, v.size_bytes, v.created_at,
  v.superseded_at, v.origin, v.redacted_at, v.redacted_by
FROM versions AS v;

-- All directories, present and past, without the root, which is always there.
CREATE OR REPLACE VIEW memory_directories AS
SELECT e.tenant_id, e.dir_path AS path, COALESCE(e.changed_at, e.created_at) AS made_at, NULL::timestamptz AS removed_at
FROM entries AS e WHERE e.dir_path > '/memories'
UNION ALL
SELECT d.tenant_id, d.path, d.made_at, d.removed_at FROM past_directories AS d;

-- The time of a change, after that of the tenant's last one, whatever the clock says.
CREATE OR REPLACE FUNCTION memory_next_time(p_last timestamptz) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN GREATEST(clock_timestamp(), p_last + interval '1 microsecond');
END
$$;

-- What a row of `versions` or `past_directories` counts in history_bytes, beside contents: about what it takes. So no history is free.
CREATE OR REPLACE FUNCTION memory_history_row_bytes() RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT 256::bigint';

-- The id of a version that is one of many in a change: of the change's own id and a path.
CREATE OR REPLACE FUNCTION memory_version_id(p_change uuid, p_path text) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT md5(p_change::text || p_path)::uuid
$$;

-- The inserts take the tenant from the rows that they read, not from the parameter: so Citus knows that both are on one shard.

-- Keeps the head versions of the files at and below p_path, which a change at p_at is about to replace; with p_contents also their contents,
-- which no live file will have any more. Returns how many versions and bytes the history grew by.
CREATE OR REPLACE FUNCTION memory_keep_versions(
  p_tenant text, p_path text, p_at timestamptz, p_contents boolean, OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  bytes := 0;
  IF p_contents THEN
    WITH kept AS (
      INSERT INTO version_contents AS c (tenant_id, id, content)
      SELECT h.tenant_id, h.content_id, h.content
      FROM memory_heads AS h WHERE h.tenant_id = p_tenant AND memory_in_subtree(h.path, p_path)
      ON CONFLICT (tenant_id, id) DO NOTHING
      RETURNING c.size_bytes
    )
    SELECT COALESCE(sum(k.size_bytes), 0) INTO bytes FROM kept AS k;
  END IF;
  INSERT INTO versions AS v (
    tenant_id, id, memory_id, operation, path, content_id, size_bytes, created_at, superseded_at, origin
  )
  SELECT h.tenant_id, h.id, h.memory_id, h.operation, h.path, h.content_id, h.size_bytes, LEAST(h.created_at, p_at), p_at, h.origin
  FROM memory_heads AS h WHERE h.tenant_id = p_tenant AND memory_in_subtree(h.path, p_path);
  GET DIAGNOSTICS versions = ROW_COUNT;
  bytes := bytes + versions * memory_history_row_bytes();
END
$$;

-- Records that the files at and below p_path, which still exist, are deleted.
CREATE OR REPLACE FUNCTION memory_record_deletions(
  p_tenant text, p_path text, p_at timestamptz, p_change uuid, p_origin jsonb, OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO versions AS v (tenant_id, id, memory_id, operation, path, created_at, superseded_at, origin)
  SELECT h.tenant_id, memory_version_id(p_change, h.path), h.memory_id, 'deleted', h.path, p_at, p_at, p_origin
  FROM memory_heads AS h WHERE h.tenant_id = p_tenant AND memory_in_subtree(h.path, p_path);
  GET DIAGNOSTICS versions = ROW_COUNT;
  bytes := versions * memory_history_row_bytes();
END
$$;

-- Keeps that the directories at and below p_path were where they are until now. Returns by how many bytes the history grew.
CREATE OR REPLACE FUNCTION memory_keep_directories(p_tenant text, p_path text, p_at timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  kept bigint;
BEGIN
  INSERT INTO past_directories AS p (tenant_id, path, made_at, removed_at)
  SELECT e.tenant_id, e.dir_path, LEAST(COALESCE(e.changed_at, e.created_at), p_at), p_at
  FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.dir_path, p_path);
  GET DIAGNOSTICS kept = ROW_COUNT;
  RETURN kept * memory_history_row_bytes();
END
$$;

-- Counts a change of so many more files, bytes and rows of history at p_at. With p_is_lost it replaced what is not kept, so the history is
-- complete only from now on.
CREATE OR REPLACE FUNCTION memory_count_change(
  p_tenant text, p_files bigint, p_bytes bigint, p_versions bigint, p_history_bytes bigint, p_at timestamptz, p_is_lost boolean
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE tenants AS t SET
    file_count = t.file_count + p_files, byte_count = t.byte_count + p_bytes,
    history_versions = t.history_versions + p_versions, history_bytes = t.history_bytes + p_history_bytes,
    history_since = CASE WHEN p_is_lost THEN p_at ELSE t.history_since END, last_change_at = p_at
  WHERE t.id = p_tenant;
END
$$;

-- Locks a tenant for a change that is several statements, and returns the time of the change; null when there is no such tenant.
CREATE OR REPLACE FUNCTION memory_begin_change(p_tenant text) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  last_change_at timestamptz;
  at timestamptz;
BEGIN
  PERFORM memory_hold_shard(p_tenant);
  SELECT t.last_change_at INTO last_change_at FROM tenants AS t WHERE t.id = p_tenant FOR NO KEY UPDATE;
  IF FOUND THEN
    at := memory_next_time(last_change_at);
    UPDATE tenants AS t SET last_change_at = at WHERE t.id = p_tenant;
  END IF;
  RETURN at;
END
$$;
