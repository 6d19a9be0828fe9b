-- Retention of superseded versions and past directories. Each call is a small batch that locks the tenant, so its writes wait only briefly.

-- Deletes versions, contents that no version has any more, and past directories (p_paths[i] removed at p_removed[i]) of a locked tenant.
-- The history is complete only since the latest time at which one of them was superseded. Returns how many versions and bytes that were.
-- A content belongs to one file, so other versions with it have the same memory_id.
-- No list is null where it is compared: Citus does not run a delete that it knows to find nothing.
CREATE OR REPLACE FUNCTION memory_delete_history(
  p_tenant text, p_versions uuid[], p_paths text[], p_removed timestamptz[], OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  memories uuid[];
  contents uuid[];
  superseded timestamptz;
  content_bytes bigint;
  directories bigint;
  removed timestamptz;
BEGIN
  WITH deleted AS (
    DELETE FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = ANY (COALESCE(p_versions, '{}'))
    RETURNING v.memory_id, v.content_id, v.superseded_at
  )
  SELECT count(*), COALESCE(array_agg(DISTINCT d.memory_id), '{}'), COALESCE(array_agg(DISTINCT d.content_id), '{}'), max(d.superseded_at)
  INTO versions, memories, contents, superseded FROM deleted AS d;
  WITH deleted AS (
    DELETE FROM version_contents AS c WHERE c.tenant_id = p_tenant AND c.id = ANY (contents) AND c.id <> ALL (ARRAY(
      SELECT v.content_id FROM versions AS v
      WHERE v.tenant_id = p_tenant AND v.memory_id = ANY (memories) AND v.content_id IS NOT NULL
    ))
    RETURNING c.size_bytes
  )
  SELECT COALESCE(sum(d.size_bytes), 0) INTO content_bytes FROM deleted AS d;
  WITH deleted AS (
    DELETE FROM past_directories AS p
    WHERE p.tenant_id = p_tenant AND p.path = ANY (COALESCE(p_paths, '{}'))
      AND EXISTS (SELECT FROM unnest(p_paths, p_removed) AS u (path, at) WHERE u.path = p.path AND u.at = p.removed_at)
    RETURNING p.removed_at
  )
  SELECT count(*), max(d.removed_at) INTO directories, removed FROM deleted AS d;
  bytes := content_bytes + (versions + directories) * memory_history_row_bytes();
  UPDATE tenants AS t SET
    history_versions = t.history_versions - versions, history_bytes = t.history_bytes - bytes,
    history_since = GREATEST(t.history_since, superseded, removed)
  WHERE t.id = p_tenant AND versions + directories > 0;
END
$$;

-- Prunes what was superseded before p_before, except the last p_keep versions of each live file, its head among them. Looks at up to
-- p_limit versions after (p_after, p_after_id), the oldest first, and at as many past directories. Returns where to go on; null at the end.
CREATE OR REPLACE FUNCTION memory_prune_old(
  p_tenant text, p_before timestamptz, p_keep integer, p_after timestamptz, p_after_id uuid, p_limit integer,
  OUT versions bigint, OUT bytes bigint, OUT next_after timestamptz, OUT next_after_id uuid
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  old record;
  old_directories record;
  live uuid[];
  pruned_ids uuid[];
  pruned record;
BEGIN
  PERFORM memory_hold_shard(p_tenant);
  PERFORM FROM tenants AS t WHERE t.id = p_tenant FOR NO KEY UPDATE;
  SELECT array_agg(o.id ORDER BY o.superseded_at, o.id) AS ids, array_agg(DISTINCT o.memory_id) AS memories,
    max(o.superseded_at) AS last, count(*) AS count
  INTO old FROM (
    SELECT v.id, v.memory_id, v.superseded_at FROM versions AS v
    WHERE v.tenant_id = p_tenant AND v.superseded_at < p_before AND v.superseded_at >= p_after
      AND (v.superseded_at, v.id) > (p_after, p_after_id)
    ORDER BY v.superseded_at, v.id LIMIT p_limit
  ) AS o;
  SELECT array_agg(o.path) AS paths, array_agg(o.removed_at) AS removed, count(*) AS count INTO old_directories FROM (
    SELECT d.path, d.removed_at FROM past_directories AS d
    WHERE d.tenant_id = p_tenant AND d.removed_at < p_before ORDER BY d.removed_at LIMIT p_limit
  ) AS o;
  IF p_keep > 0 AND old.count > 0 THEN
    live := ARRAY(
      SELECT h.memory_id FROM memory_heads AS h WHERE h.tenant_id = p_tenant AND h.memory_id = ANY (old.memories)
    );
  END IF;
  pruned_ids := ARRAY(
    SELECT v.id FROM versions AS v
    WHERE v.tenant_id = p_tenant AND v.id = ANY (old.ids) AND (COALESCE(v.memory_id <> ALL (live), true) OR (
      SELECT count(*) FROM (
        SELECT FROM versions AS n
        WHERE n.tenant_id = p_tenant AND n.memory_id = v.memory_id AND n.created_at > v.created_at LIMIT p_keep
      ) AS newer
    ) >= p_keep - 1)
  );
  pruned := memory_delete_history(p_tenant, pruned_ids, old_directories.paths, old_directories.removed);
  versions := pruned.versions;
  bytes := pruned.bytes;
  IF old.count = p_limit THEN
    next_after := old.last;
    next_after_id := old.ids[p_limit];
  ELSIF old_directories.count = p_limit THEN
    next_after := p_after;
    next_after_id := p_after_id;
  END IF;
END
$$;

-- Prunes up to p_limit of the oldest versions and past directories of a tenant whose history takes more than p_max_bytes, until it does
-- not. A content counts with the last version that has it, since it goes with that.
CREATE OR REPLACE FUNCTION memory_prune_excess(
  p_tenant text, p_max_bytes bigint, p_limit integer, OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  excess bigint;
  oldest record;
  pruned record;
BEGIN
  versions := 0;
  bytes := 0;
  PERFORM memory_hold_shard(p_tenant);
  SELECT t.history_bytes - p_max_bytes INTO excess FROM tenants AS t WHERE t.id = p_tenant FOR NO KEY UPDATE;
  IF excess IS NULL OR excess <= 0 THEN
    RETURN;
  END IF;
  WITH old_versions AS (
    SELECT v.superseded_at AS gone_at, v.id, v.memory_id, v.content_id FROM versions AS v
    WHERE v.tenant_id = p_tenant ORDER BY v.superseded_at, v.id LIMIT p_limit
  ), old_directories AS (
    SELECT d.removed_at AS gone_at, d.path FROM past_directories AS d
    WHERE d.tenant_id = p_tenant ORDER BY d.removed_at, d.path LIMIT p_limit
  ), old AS (
    SELECT o.gone_at, o.id, NULL::text AS path, memory_history_row_bytes() + COALESCE((
      SELECT c.size_bytes FROM version_contents AS c
      WHERE c.tenant_id = p_tenant AND c.id = o.content_id AND NOT EXISTS (
        SELECT FROM versions AS n
        WHERE n.tenant_id = p_tenant AND n.memory_id = o.memory_id AND n.content_id = o.content_id
          AND (n.superseded_at, n.id) > (o.gone_at, o.id)
      )
    ), 0) AS bytes FROM old_versions AS o
    UNION ALL
    SELECT o.gone_at, NULL, o.path, memory_history_row_bytes() FROM old_directories AS o
  ), first AS (
    SELECT o.* FROM old AS o ORDER BY o.gone_at, o.id, o.path LIMIT p_limit
  ), freed AS (
    SELECT f.*, sum(f.bytes) OVER (
      ORDER BY f.gone_at, f.id, f.path ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS freed_before FROM first AS f
  )
  SELECT array_agg(f.id) FILTER (WHERE f.id IS NOT NULL) AS ids, array_agg(f.path) FILTER (WHERE f.path IS NOT NULL) AS paths,
    array_agg(f.gone_at) FILTER (WHERE f.path IS NOT NULL) AS removed
  INTO oldest FROM freed AS f WHERE COALESCE(f.freed_before, 0) < excess;
  pruned := memory_delete_history(p_tenant, oldest.ids, oldest.paths, oldest.removed);
  versions := pruned.versions;
  bytes := pruned.bytes;
END
$$;
