-- Functions for the change history (docs/design.md, History). Their callers have locked the tenant.

-- All versions. A current version's content is in `live_content`. The columns for superseded versions are described in
-- src/core/database/schema/file-tables.ts.
CREATE OR REPLACE VIEW memory_heads AS
SELECT e.tenant_id, e.version AS id, e.memory_id, e.operation, e.path, e.size_bytes, NULL::bytea AS content_sha256,
  e.content AS live_content, NULL::integer AS splice_start, NULL::integer AS splice_length, NULL::text AS kept_content,
  e.changed_at AS created_at, NULL::timestamptz AS superseded_at, e.origin,
  NULL::timestamptz AS redacted_at, NULL::jsonb AS redacted_by
FROM entries AS e WHERE e.kind = 'file';

CREATE OR REPLACE VIEW memory_versions AS
SELECT * FROM memory_heads
UNION ALL
SELECT v.tenant_id, v.id, v.memory_id, v.operation, v.path, v.size_bytes, v.content_sha256,
  NULL, v.splice_start, v.splice_length, v.content, v.created_at, v.superseded_at, v.origin, v.redacted_at, v.redacted_by
FROM versions AS v;

-- All existing and past directories without the root, which always exists.
CREATE OR REPLACE VIEW memory_directories AS
SELECT e.tenant_id, e.dir_path AS path, e.changed_at AS created_at, NULL::timestamptz AS removed_at
FROM entries AS e WHERE e.dir_path > '/memories'
UNION ALL
SELECT d.tenant_id, d.path, d.created_at, d.removed_at FROM past_directories AS d;

-- Returns the time for a change, which is always later than the tenant's last change or event, even if the clock is wrong.
CREATE OR REPLACE FUNCTION memory_next_time(p_last timestamptz) RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
  SELECT GREATEST(clock_timestamp(), p_last + interval '1 microsecond')
$$;

-- Returns the first half of the version IDs for a time: a version 7 UUID to the microsecond (RFC 9562, section 6.2,
-- method 3). Append 16 hexadecimal digits to get an ID.
CREATE OR REPLACE FUNCTION memory_id_prefix(p_at timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT lpad(to_hex(trunc(extract(epoch FROM p_at) * 1000)::bigint), 12, '0')
    || to_hex(x'7000'::integer + extract(microseconds FROM p_at)::integer % 1000 * 4096 / 1000)
$$;

-- Returns the lowest possible version ID for a time; null for null. Declared immutable although it calls functions that
-- are not: Citus only pushes immutable functions on columns down to the shard.
CREATE OR REPLACE FUNCTION memory_first_id(p_at timestamptz) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN memory_id_prefix(LEAST(GREATEST(p_at, 'epoch'), '9999-12-31Z')) || '0000000000000000';
END
$$;

-- Builds a version ID from the prefix for its time and the second half of p_version, a UUID chosen by the writer.
CREATE OR REPLACE FUNCTION memory_version_id(p_id_prefix text, p_version uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (p_id_prefix || right(p_version::text, 17))::uuid
$$;

-- Returns the ID for one of many versions in a change, derived from the change's random ID and the file's ID.
CREATE OR REPLACE FUNCTION memory_version_id(p_id_prefix text, p_change uuid, p_memory uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (p_id_prefix || '8' || right(md5(p_change::text || p_memory::text), 15))::uuid
$$;

-- Whether a version is stored whole even if a splice would suffice. Selects about 1 in 256 versions, which limits how
-- many splices are needed to reconstruct a content.
CREATE OR REPLACE FUNCTION memory_is_whole(p_version uuid) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT right(p_version::text, 2) = '00'
$$;

-- Estimates the size of a `versions` row with its entries in the four full indexes, whose pages are two thirds full.
-- p_content is the stored part of the content. Ignores compression.
CREATE OR REPLACE FUNCTION memory_version_bytes(p_tenant text, p_path text, p_origin jsonb, p_content text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 400 + 9 * octet_length(p_tenant) + 10 * COALESCE(octet_length(p_path), 0) / 3 + 11 * COALESCE(octet_length(p_origin::text), 0) / 10
    + COALESCE(octet_length(p_content), 0)
$$;

-- Estimates the size of a `past_directories` row with its index entries.
CREATE OR REPLACE FUNCTION memory_directory_bytes(p_tenant text, p_path text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 135 + 9 * octet_length(p_tenant) / 2 + 16 * octet_length(p_path) / 5
$$;

-- Copies the entries at p_paths to the history before a change at p_at replaces them: the files' current versions, and
-- the directories' periods. With p_whole, versions store their whole contents. Without p_whole, the change must leave
-- the contents unchanged. Returns how many versions and bytes were added.
--
-- Here and in other functions for many rows, each statement finds one row by its key, which is fast with any
-- statistics. A statement for a list of keys may scan all the tenant's rows for each key.
CREATE OR REPLACE FUNCTION memory_keep_entries(
  p_tenant text, p_paths text[], p_at timestamptz, p_whole boolean, OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  kept_path text;
  kept_bytes integer;
BEGIN
  versions := 0;
  bytes := 0;
  FOREACH kept_path IN ARRAY p_paths LOOP
    -- The inserts read the tenant from the selected rows instead of the parameter, so that Citus knows that both tables
    -- are on one shard.
    INSERT INTO versions AS v (
      tenant_id, id, memory_id, operation, path, created_at, superseded_at, origin, size_bytes, content_sha256,
      splice_start, splice_length, content, bytes
    )
    SELECT e.tenant_id, e.version, e.memory_id, e.operation, e.path, e.changed_at, p_at, e.origin, e.size_bytes, memory_sha256(e.content),
      CASE WHEN NOT p_whole THEN 0 END, CASE WHEN NOT p_whole THEN 0 END, CASE WHEN p_whole THEN e.content ELSE '' END,
      memory_version_bytes(e.tenant_id, e.path, e.origin, CASE WHEN p_whole THEN e.content END)
    FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = kept_path AND e.kind = 'file'
    RETURNING v.bytes INTO kept_bytes;
    IF FOUND THEN
      versions := versions + 1;
    ELSE
      INSERT INTO past_directories AS p (tenant_id, path, created_at, removed_at)
      SELECT e.tenant_id, e.dir_path, e.changed_at, p_at
      FROM entries AS e WHERE e.tenant_id = p_tenant AND e.dir_path = kept_path
      RETURNING memory_directory_bytes(p.tenant_id, p.path) INTO kept_bytes;
    END IF;
    bytes := bytes + COALESCE(kept_bytes, 0);
  END LOOP;
END
$$;

-- Prepares a change that replaces or deletes the files at p_paths without recording their current versions. Superseded
-- versions that are splices of these current versions are stored whole. Returns the history's growth in bytes.
CREATE OR REPLACE FUNCTION memory_lose_entries(p_tenant text, p_paths text[], OUT bytes bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  lost_path text;
  file record;
BEGIN
  bytes := 0;
  FOREACH lost_path IN ARRAY p_paths LOOP
    SELECT e.memory_id, e.version INTO file FROM entries AS e
    WHERE e.tenant_id = p_tenant AND e.path = lost_path AND e.kind = 'file';
    IF FOUND THEN
      bytes := bytes + memory_make_whole(p_tenant, file.memory_id, ARRAY[file.version]);
    END IF;
  END LOOP;
END
$$;

-- Updates the tenant's counters for a change at p_at. With p_is_lost, the change replaced versions that are not
-- recorded, so the history is complete only from p_at. A null p_max_history_bytes skips pruning, because the change has
-- further calls.
CREATE OR REPLACE FUNCTION memory_count_change(
  p_tenant text, p_files bigint, p_bytes bigint, p_versions bigint, p_history_bytes bigint, p_at timestamptz, p_is_lost boolean,
  p_max_history_bytes bigint
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  tenant record;
BEGIN
  UPDATE tenants AS t SET
    file_count = t.file_count + p_files, byte_count = t.byte_count + p_bytes,
    history_versions = t.history_versions + p_versions, history_bytes = t.history_bytes + p_history_bytes,
    history_since = CASE WHEN p_is_lost THEN p_at ELSE t.history_since END, last_change_at = p_at
  WHERE t.id = p_tenant
  RETURNING t.history_bytes, COALESCE(t.max_history_bytes, p_max_history_bytes) AS max_history_bytes INTO tenant;
  PERFORM memory_log_change(p_tenant, p_at);
  IF p_max_history_bytes IS NOT NULL AND tenant.history_bytes > NULLIF(tenant.max_history_bytes, 0) THEN
    PERFORM memory_prune_after_write(p_tenant, tenant.history_bytes, tenant.max_history_bytes, p_history_bytes);
  END IF;
END
$$;

-- Locks a tenant for a change in several statements, and returns the change's time; null if the tenant does not exist.
CREATE OR REPLACE FUNCTION memory_begin_change(p_tenant text) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
BEGIN
  UPDATE tenants AS t SET last_change_at = opened.at WHERE t.id = p_tenant;
  PERFORM memory_log_change(p_tenant, opened.at);
  RETURN opened.at;
END
$$;
