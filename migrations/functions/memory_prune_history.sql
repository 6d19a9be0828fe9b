-- Retention for superseded versions and past directories. Each call is a small batch that locks the tenant, so the
-- tenant's writes wait only briefly. A file's oldest versions are deleted first, because no other version depends on
-- them.

-- Returns the maximum number of bytes that a batch deletes, plus one row. Deleting a large content takes as long as
-- deleting many rows.
CREATE OR REPLACE FUNCTION memory_prune_batch_bytes() RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 16 * 1024 * 1024::bigint
$$;

-- Updates a locked tenant's counters after rows in its history were deleted. The history is then complete from p_since,
-- the latest end among the deleted rows, and so are its events.
CREATE OR REPLACE FUNCTION memory_count_pruned(p_tenant text, p_versions bigint, p_bytes bigint, p_since timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE tenants AS t SET
    history_versions = t.history_versions - p_versions, history_bytes = t.history_bytes - p_bytes,
    history_since = GREATEST(t.history_since, p_since)
  WHERE t.id = p_tenant AND p_since IS NOT NULL;
  UPDATE tenant_events AS e SET fleet_only = true WHERE e.tenant_id = p_tenant AND e.at < p_since AND NOT e.fleet_only;
END
$$;

-- Prunes rows superseded before p_before, except each existing file's newest p_keep versions, including its current
-- version. Examines at most p_limit versions after (p_after, p_after_id), oldest first, and at most p_limit past
-- directories. Returns the position for the next batch; null at the end.
CREATE OR REPLACE FUNCTION memory_prune_old(
  p_tenant text, p_before timestamptz, p_keep integer, p_after timestamptz, p_after_id uuid, p_limit integer,
  OUT versions bigint, OUT bytes bigint, OUT next_after timestamptz, OUT next_after_id uuid
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  old record;
  looked_at integer := 0;
  directories integer := 0;
  since timestamptz;
BEGIN
  versions := 0;
  bytes := 0;
  FOR old IN
    SELECT o.id, o.superseded_at, o.bytes, p_keep > 1
      AND (SELECT true FROM entries AS e WHERE e.tenant_id = p_tenant AND e.memory_id = o.memory_id)
      AND (
        SELECT n.id FROM versions AS n WHERE n.tenant_id = p_tenant AND n.memory_id = o.memory_id AND n.id > o.id
        ORDER BY n.memory_id, n.id OFFSET GREATEST(p_keep - 2, 0) LIMIT 1
      ) IS NULL AS is_kept
    FROM (
      SELECT v.id, v.memory_id, v.superseded_at, v.bytes FROM versions AS v
      WHERE v.tenant_id = p_tenant AND v.superseded_at < p_before AND v.superseded_at >= p_after
        AND (v.superseded_at, v.id) > (p_after, p_after_id)
      ORDER BY v.superseded_at, v.id LIMIT p_limit
    ) AS o
  LOOP
    looked_at := looked_at + 1;
    next_after := old.superseded_at;
    next_after_id := old.id;
    IF old.is_kept IS NOT TRUE THEN
      DELETE FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = old.id;
      versions := versions + 1;
      bytes := bytes + old.bytes;
      since := old.superseded_at;
    END IF;
    EXIT WHEN bytes > memory_prune_batch_bytes();
  END LOOP;
  FOR old IN
    SELECT d.path, d.removed_at, memory_directory_bytes(d.tenant_id, d.path) AS bytes FROM past_directories AS d
    WHERE d.tenant_id = p_tenant AND d.removed_at < p_before ORDER BY d.removed_at LIMIT p_limit
  LOOP
    DELETE FROM past_directories AS d WHERE d.tenant_id = p_tenant AND d.path = old.path AND d.removed_at = old.removed_at;
    directories := directories + 1;
    bytes := bytes + old.bytes;
    since := GREATEST(since, old.removed_at);
  END LOOP;
  PERFORM memory_count_pruned(p_tenant, versions, bytes, since);
  IF looked_at < p_limit AND directories < p_limit AND bytes <= memory_prune_batch_bytes() THEN
    next_after := NULL;
    next_after_id := NULL;
  ELSIF looked_at = 0 THEN
    next_after := p_after;
    next_after_id := p_after_id;
  END IF;
END
$$;

-- Prunes a locked tenant's oldest versions and past directories, until p_bytes are freed or p_limit rows are deleted.
-- Returns how many versions were deleted, and the freed bytes.
CREATE OR REPLACE FUNCTION memory_prune_oldest(
  p_tenant text, p_bytes bigint, p_limit integer, OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  -- Each row counts at least 150 bytes, so this many rows free p_bytes.
  enough CONSTANT integer := LEAST(p_limit, p_bytes / 150 + 1);
  old record;
  since timestamptz;
BEGIN
  versions := 0;
  bytes := 0;
  FOR old IN
    (SELECT v.superseded_at AS gone_at, v.id, NULL::text AS path, v.bytes FROM versions AS v
      WHERE v.tenant_id = p_tenant ORDER BY v.superseded_at, v.id LIMIT enough)
    UNION ALL
    (SELECT d.removed_at, NULL, d.path, memory_directory_bytes(d.tenant_id, d.path) FROM past_directories AS d
      WHERE d.tenant_id = p_tenant ORDER BY d.removed_at LIMIT enough)
    ORDER BY gone_at, id LIMIT enough
  LOOP
    EXIT WHEN bytes >= p_bytes;
    IF old.path IS NULL THEN
      DELETE FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = old.id;
      versions := versions + 1;
    ELSE
      DELETE FROM past_directories AS d WHERE d.tenant_id = p_tenant AND d.path = old.path AND d.removed_at = old.gone_at;
    END IF;
    bytes := bytes + old.bytes;
    since := old.gone_at;
  END LOOP;
  PERFORM memory_count_pruned(p_tenant, versions, bytes, since);
END
$$;

-- Prunes a history that exceeds p_max_bytes, after a write to a locked tenant has added p_added bytes. Frees slightly
-- more than the excess, so that not every write has to prune. A large excess, for example after the limit was lowered,
-- is reduced gradually. The job (src/core/history/pruning.ts) deletes the rest.
CREATE OR REPLACE FUNCTION memory_prune_after_write(p_tenant text, p_history_bytes bigint, p_max_bytes bigint, p_added bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM memory_prune_oldest(p_tenant, LEAST(p_history_bytes - p_max_bytes + p_max_bytes / 64, 2 * p_added + 256 * 1024), 2000000000);
END
$$;

-- Prunes a batch of at most p_limit rows from a tenant whose history exceeds p_max_bytes. Returns how many versions
-- were deleted, and the freed bytes.
CREATE OR REPLACE FUNCTION memory_prune_excess(
  p_tenant text, p_max_bytes bigint, p_limit integer, OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  pruned record;
BEGIN
  versions := 0;
  bytes := 0;
  IF opened.history_bytes > p_max_bytes THEN
    pruned := memory_prune_oldest(p_tenant, LEAST(opened.history_bytes - p_max_bytes, memory_prune_batch_bytes()), p_limit);
    versions := pruned.versions;
    bytes := pruned.bytes;
  END IF;
END
$$;
