-- Retention of superseded versions and past directories. Each call is a small batch that locks the tenant, so its writes wait only briefly. The
-- oldest versions of a file go first, and no other version is made from them.

-- Deletes versions and past directories (p_paths[i] removed at p_removed[i]) of a locked tenant. The history is complete only since the
-- latest time at which one of them was superseded. Returns how many versions and bytes that were.
-- No list is null where it is compared: Citus does not run a delete that it knows to find nothing.
CREATE OR REPLACE FUNCTION memory_delete_history(
  p_tenant text, p_versions uuid[], p_paths text[], p_removed timestamptz[], OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  superseded timestamptz;
  directories bigint := 0;
  directory_bytes bigint;
  removed timestamptz;
BEGIN
  WITH deleted AS (
    DELETE FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = ANY (COALESCE(p_versions, '{}'))
    RETURNING v.bytes, v.superseded_at
  )
  SELECT count(*), COALESCE(sum(d.bytes), 0), max(d.superseded_at) INTO versions, bytes, superseded FROM deleted AS d;
  IF cardinality(p_paths) > 0 THEN
    WITH deleted AS (
      DELETE FROM past_directories AS p
      WHERE p.tenant_id = p_tenant AND p.path = ANY (p_paths)
        AND EXISTS (SELECT FROM unnest(p_paths, p_removed) AS u (path, at) WHERE u.path = p.path AND u.at = p.removed_at)
      RETURNING memory_directory_bytes(p.tenant_id, p.path) AS bytes, p.removed_at
    )
    SELECT count(*), COALESCE(sum(d.bytes), 0), max(d.removed_at) INTO directories, directory_bytes, removed FROM deleted AS d;
    bytes := bytes + directory_bytes;
  END IF;
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
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  old record;
  old_directories record;
  file uuid;
  first_kept uuid;
  spared uuid[] := '{}';
  pruned record;
BEGIN
  SELECT COALESCE(array_agg(o.id ORDER BY o.superseded_at, o.id), '{}') AS ids, array_agg(DISTINCT o.memory_id) AS memories,
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
  IF p_keep > 1 AND old.count > 0 THEN
    FOR file IN
      SELECT e.memory_id FROM entries AS e WHERE e.tenant_id = p_tenant AND e.memory_id = ANY (old.memories)
    LOOP
      first_kept := (
        SELECT min(last.id::text)::uuid FROM (
          SELECT v.id FROM versions AS v
          WHERE v.tenant_id = p_tenant AND v.memory_id = file ORDER BY v.id DESC LIMIT p_keep - 1
        ) AS last
      );
      spared := spared || ARRAY(
        SELECT v.id FROM versions AS v WHERE v.tenant_id = p_tenant AND v.memory_id = file AND v.id >= first_kept
      );
    END LOOP;
  END IF;
  pruned := memory_delete_history(
    p_tenant, ARRAY(SELECT unnest(old.ids) EXCEPT SELECT unnest(spared)), old_directories.paths, old_directories.removed
  );
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

-- Prunes the oldest versions and past directories of a locked tenant, up to p_limit of them, until p_excess bytes are free. Returns how many
-- versions and bytes that were.
CREATE OR REPLACE FUNCTION memory_prune_oldest(
  p_tenant text, p_excess bigint, p_limit integer, OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  -- No row has less than 100 bytes, so these are enough.
  enough CONSTANT bigint := LEAST(p_limit, p_excess / 100 + 1);
  oldest record;
  pruned record;
BEGIN
  WITH old AS (
    (SELECT v.superseded_at AS gone_at, v.id, NULL::text AS path, v.bytes FROM versions AS v
      WHERE v.tenant_id = p_tenant ORDER BY v.superseded_at LIMIT enough)
    UNION ALL
    (SELECT d.removed_at, NULL, d.path, memory_directory_bytes(d.tenant_id, d.path) FROM past_directories AS d
      WHERE d.tenant_id = p_tenant ORDER BY d.removed_at LIMIT enough)
  ), freed AS (
    SELECT o.*, sum(o.bytes) OVER (ORDER BY o.gone_at, o.id, o.path ROWS UNBOUNDED PRECEDING) - o.bytes AS freed_before FROM old AS o
  )
  SELECT array_agg(f.id) FILTER (WHERE f.id IS NOT NULL) AS ids, array_agg(f.path) FILTER (WHERE f.path IS NOT NULL) AS paths,
    array_agg(f.gone_at) FILTER (WHERE f.path IS NOT NULL) AS removed
  INTO oldest FROM (SELECT * FROM freed WHERE freed_before < p_excess ORDER BY gone_at, id, path LIMIT p_limit) AS f;
  pruned := memory_delete_history(p_tenant, oldest.ids, oldest.paths, oldest.removed);
  versions := pruned.versions;
  bytes := pruned.bytes;
END
$$;

-- The same for a tenant whose history takes more than p_max_bytes, until it does not.
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
    pruned := memory_prune_oldest(p_tenant, opened.history_bytes - p_max_bytes, p_limit);
    versions := pruned.versions;
    bytes := pruned.bytes;
  END IF;
END
$$;
