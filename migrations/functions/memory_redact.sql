-- Permanently removes path and content from a superseded version, and from all superseded versions of the file with the
-- same content. Earlier versions keep their contents. Also removes the names of past directories above the redacted
-- paths that contain no other files, because the paths contain these names. Redacted versions are not changed again.
--
-- Returns how many versions were redacted, how many other versions still have one of the paths, and the outcome:
--
-- - missing: the tenant or the version does not exist
-- - live: the version is current, or the file's current version `head` has the same content
-- - redacted: the version was redacted at `redacted_at`, now or by an earlier call
CREATE OR REPLACE FUNCTION memory_redact(
  p_tenant text, p_version uuid, p_by jsonb,
  OUT outcome text, OUT head uuid, OUT versions bigint, OUT same_path bigint, OUT redacted_at timestamptz
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  version record;
  live record;
  erased record;
  emptied text[];
  done record;
  freed_directories bigint;
BEGIN
  versions := 0;
  same_path := 0;
  SELECT v.memory_id, v.content_sha256, v.redacted_at INTO version FROM versions AS v WHERE v.tenant_id = p_tenant AND v.id = p_version;
  IF NOT FOUND THEN
    SELECT e.version INTO head FROM entries AS e WHERE e.tenant_id = p_tenant AND e.version = p_version;
    outcome := CASE WHEN head IS NULL THEN 'missing' ELSE 'live' END;
    RETURN;
  ELSIF version.redacted_at IS NOT NULL THEN
    outcome := 'redacted';
    redacted_at := version.redacted_at;
    RETURN;
  END IF;
  SELECT e.version, e.content INTO live FROM entries AS e WHERE e.tenant_id = p_tenant AND e.memory_id = version.memory_id;
  IF FOUND AND memory_sha256(live.content) = version.content_sha256 THEN
    outcome := 'live';
    head := live.version;
    RETURN;
  END IF;

  redacted_at := opened.at;
  SELECT array_agg(v.id ORDER BY v.id) AS ids, array_agg(DISTINCT v.path) AS paths INTO erased FROM versions AS v
  WHERE v.tenant_id = p_tenant AND v.memory_id = version.memory_id
    AND (v.id = p_version OR v.content_sha256 = version.content_sha256);
  done := memory_redact_file(p_tenant, version.memory_id, erased.ids, redacted_at, p_by);
  versions := done.versions;

  emptied := ARRAY(
    SELECT DISTINCT a.path
    FROM unnest(erased.paths) AS p (path), unnest(array_remove(memory_ancestors(p.path), '/memories') || p.path) AS a (path)
    WHERE NOT EXISTS (SELECT FROM versions AS v WHERE v.tenant_id = p_tenant AND memory_in_subtree(v.path, a.path))
      AND NOT EXISTS (SELECT FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, a.path))
  );
  freed_directories := memory_forget_directories(p_tenant, emptied);
  SELECT count(*) INTO same_path FROM versions AS v WHERE v.tenant_id = p_tenant AND v.path = ANY (erased.paths);
  UPDATE tenants AS t SET history_bytes = t.history_bytes + done.bytes - freed_directories, last_change_at = opened.at WHERE t.id = p_tenant;
  PERFORM memory_log_change(p_tenant, opened.at);
  outcome := 'redacted';
END
$$;

-- Redacts superseded versions of a file. Other versions keep their contents. Versions that are pruned or already
-- redacted are skipped. Returns how many versions were redacted, and the history's growth in bytes.
CREATE OR REPLACE FUNCTION memory_redact_file(
  p_tenant text, p_memory uuid, p_versions uuid[], p_at timestamptz, p_by jsonb, OUT versions bigint, OUT bytes bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  redacted_version uuid;
  bytes_before integer;
  bytes_after integer;
BEGIN
  versions := 0;
  bytes := memory_make_whole(p_tenant, p_memory, p_versions);
  FOREACH redacted_version IN ARRAY p_versions LOOP
    SELECT v.bytes INTO bytes_before FROM versions AS v
    WHERE v.tenant_id = p_tenant AND v.id = redacted_version AND v.redacted_at IS NULL;
    CONTINUE WHEN NOT FOUND;
    UPDATE versions AS v SET
      path = NULL, size_bytes = NULL, content_sha256 = NULL, splice_start = NULL, splice_length = NULL, content = NULL,
      bytes = memory_version_bytes(v.tenant_id, NULL, v.origin, NULL), redacted_at = p_at, redacted_by = p_by
    WHERE v.tenant_id = p_tenant AND v.id = redacted_version
    RETURNING v.bytes INTO bytes_after;
    versions := versions + 1;
    bytes := bytes + bytes_after - bytes_before;
  END LOOP;
END
$$;

-- Stores the version before each of p_versions whole, so that p_versions can be redacted or replaced. Returns the
-- history's growth in bytes.
CREATE OR REPLACE FUNCTION memory_make_whole(p_tenant text, p_memory uuid, p_versions uuid[], OUT bytes bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  next_version uuid;
  previous record;
  whole text;
BEGIN
  bytes := 0;
  FOREACH next_version IN ARRAY p_versions LOOP
    SELECT v.id, v.splice_start, octet_length(v.content) AS stored INTO previous FROM versions AS v
    WHERE v.tenant_id = p_tenant AND v.memory_id = p_memory AND v.id < next_version ORDER BY v.id DESC LIMIT 1;
    IF previous.splice_start IS NOT NULL AND previous.id <> ALL (p_versions) THEN
      whole := memory_content(p_tenant, p_memory, previous.id);
      UPDATE versions AS v SET
        content = whole, splice_start = NULL, splice_length = NULL, bytes = v.bytes - previous.stored + octet_length(whole)
      WHERE v.tenant_id = p_tenant AND v.id = previous.id;
      bytes := bytes + octet_length(whole) - previous.stored;
    END IF;
  END LOOP;
END
$$;

-- Permanently removes the records for directories that were at or below p_path. With p_dry_run, only returns the
-- outcome.
--
-- Returns how many directory periods were removed, and the outcome:
--
-- - missing: no such directory existed, or the tenant does not exist
-- - live: an entry is at the path
-- - kept: the version `version` was at or below the path, and must be redacted first
-- - redacted: the records were removed at `redacted_at`
CREATE OR REPLACE FUNCTION memory_redact_directories(
  p_tenant text, p_path text, p_dry_run boolean,
  OUT outcome text, OUT version uuid, OUT directories bigint, OUT redacted_at timestamptz
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  freed bigint;
BEGIN
  directories := (SELECT count(*) FROM past_directories AS d WHERE d.tenant_id = p_tenant AND memory_in_subtree(d.path, p_path));
  version := (
    SELECT v.id FROM versions AS v WHERE v.tenant_id = p_tenant AND memory_in_subtree(v.path, p_path) ORDER BY v.path, v.id LIMIT 1
  );
  PERFORM FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = p_path;
  outcome := CASE
    WHEN FOUND THEN 'live'
    WHEN opened.outcome = 'unknown_tenant' THEN 'missing'
    WHEN directories = 0 AND p_path <> '/memories' THEN 'missing' -- The root always exists.
    WHEN version IS NOT NULL THEN 'kept'
    ELSE 'redacted'
  END;
  IF outcome = 'redacted' THEN
    redacted_at := clock_timestamp();
    IF NOT p_dry_run THEN
      freed := memory_forget_directories(p_tenant, ARRAY[p_path]);
      UPDATE tenants AS t SET history_bytes = t.history_bytes - freed WHERE t.id = p_tenant;
    END IF;
  END IF;
END
$$;

-- Removes the records for past directories at or below p_paths. Returns the history bytes freed.
CREATE OR REPLACE FUNCTION memory_forget_directories(p_tenant text, p_paths text[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  freed bigint;
BEGIN
  WITH forgotten AS (
    DELETE FROM past_directories AS d
    WHERE d.tenant_id = p_tenant AND EXISTS (SELECT FROM unnest(p_paths) AS e (path) WHERE memory_in_subtree(d.path, e.path))
    RETURNING memory_directory_bytes(d.tenant_id, d.path) AS bytes
  )
  SELECT COALESCE(sum(f.bytes), 0) INTO freed FROM forgotten AS f;
  RETURN freed;
END
$$;
