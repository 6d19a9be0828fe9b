-- Functions that erase a text from one tenant or draft (src/features/incidents/erase.ts). The caller has decided which
-- versions and paths contain the text. The tenant's limits do not apply, and archived tenants can be changed.

-- Redacts superseded file versions. p_memories has each version's file. Returns how many versions were redacted.
CREATE OR REPLACE FUNCTION memory_redact_versions(p_tenant text, p_memories uuid[], p_versions uuid[], p_by jsonb)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  file record;
  done record;
  redacted bigint := 0;
  bytes bigint := 0;
BEGIN
  FOR file IN
    SELECT f.memory_id, array_agg(f.version ORDER BY f.version) AS versions
    FROM unnest(p_memories, p_versions) AS f (memory_id, version) GROUP BY f.memory_id
  LOOP
    done := memory_redact_file(p_tenant, file.memory_id, file.versions, opened.at, p_by);
    redacted := redacted + done.versions;
    bytes := bytes + done.bytes;
  END LOOP;
  UPDATE tenants AS t SET history_bytes = t.history_bytes + bytes, last_change_at = opened.at
  WHERE t.id = p_tenant AND redacted > 0;
  PERFORM memory_log_change(p_tenant, opened.at) WHERE redacted > 0;
  RETURN redacted;
END
$$;

-- Redacts at most p_limit superseded versions whose paths are at or below p_path. Returns how many versions were
-- redacted.
CREATE OR REPLACE FUNCTION memory_redact_below(p_tenant text, p_path text, p_limit integer, p_by jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  found_versions record;
BEGIN
  SELECT array_agg(v.memory_id) AS memories, array_agg(v.id) AS ids INTO found_versions FROM (
    SELECT b.memory_id, b.id FROM versions AS b
    WHERE b.tenant_id = p_tenant AND memory_in_subtree(b.path, p_path) ORDER BY b.path, b.id LIMIT p_limit
  ) AS v;
  RETURN CASE
    WHEN found_versions.ids IS NULL THEN 0
    ELSE memory_redact_versions(p_tenant, found_versions.memories, found_versions.ids, p_by)
  END;
END
$$;

-- Removes the records for past directories at p_paths, and below them with p_below. Returns how many records were
-- removed.
CREATE OR REPLACE FUNCTION memory_forget_paths(p_tenant text, p_paths text[], p_below boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  forgotten_path text;
  gone record;
  directories bigint := 0;
  bytes bigint := 0;
BEGIN
  FOREACH forgotten_path IN ARRAY p_paths LOOP
    WITH forgotten AS (
      DELETE FROM past_directories AS d
      WHERE d.tenant_id = p_tenant AND memory_in_subtree(d.path, forgotten_path) AND (p_below OR d.path = forgotten_path)
      RETURNING memory_directory_bytes(d.tenant_id, d.path) AS bytes
    )
    SELECT count(*) AS directories, COALESCE(sum(f.bytes), 0) AS bytes INTO gone FROM forgotten AS f;
    directories := directories + gone.directories;
    bytes := bytes + gone.bytes;
  END LOOP;
  UPDATE tenants AS t SET history_bytes = t.history_bytes - bytes WHERE t.id = p_tenant AND bytes > 0;
  RETURN directories;
END
$$;

-- Moves a file, or a directory with its descendants, to a free path in the same directory. In a draft, also renames the
-- path in the base, and keeps unchanged files unchanged. Returns how many entries were moved.
CREATE OR REPLACE FUNCTION memory_erase_path(
  p_tenant text, p_from text, p_to text, p_change uuid, p_origin jsonb, p_history_days bigint, p_max_history_bytes bigint
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, NULL, NULL, true);
  paths CONSTANT text[] := ARRAY(SELECT e.path FROM entries AS e WHERE e.tenant_id = p_tenant AND memory_in_subtree(e.path, p_from));
BEGIN
  UPDATE draft_base AS b SET version = memory_version_id(opened.id_prefix, p_change, b.memory_id)
  WHERE b.tenant_id = p_tenant AND b.memory_id IS NOT NULL AND EXISTS (
    SELECT FROM entries AS e
    WHERE e.tenant_id = p_tenant AND e.memory_id = b.memory_id AND e.version = b.version AND memory_in_subtree(e.path, p_from)
  );
  PERFORM memory_erase_base_path(p_tenant, p_from, p_to);
  IF cardinality(paths) > 0 THEN
    PERFORM memory_move_entries(
      p_tenant, p_from, p_to, paths, opened.at, opened.keeps_history, opened.id_prefix, p_change, p_origin, p_max_history_bytes
    );
  END IF;
  RETURN cardinality(paths);
END
$$;

-- Renames a path in a draft's base, with the paths below it. Returns how many paths were renamed.
CREATE OR REPLACE FUNCTION memory_erase_base_path(p_tenant text, p_from text, p_to text) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  renamed bigint;
BEGIN
  UPDATE draft_base AS b SET path = p_to || substr(b.path, length(p_from) + 1)
  WHERE b.tenant_id = p_tenant AND memory_in_subtree(b.path, p_from);
  GET DIAGNOSTICS renamed = ROW_COUNT;
  RETURN renamed;
END
$$;

-- Marks a draft's files that were at the versions p_before as unchanged since the base, after an erasure has edited
-- both sides.
CREATE OR REPLACE FUNCTION memory_erase_base_versions(p_tenant text, p_memories uuid[], p_before uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE draft_base AS b SET version = e.version
  FROM unnest(p_memories, p_before) AS f (memory_id, version), entries AS e
  WHERE b.tenant_id = p_tenant AND b.memory_id = f.memory_id AND b.version = f.version
    AND e.tenant_id = p_tenant AND e.memory_id = f.memory_id;
END
$$;

-- Replaces path and content in a superseded version, which is the base for a file in a draft. A merge needs this
-- version.
CREATE OR REPLACE FUNCTION memory_rewrite_version(p_tenant text, p_memory uuid, p_version uuid, p_path text, p_content text)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, 1, NULL, NULL, true);
  bytes_before CONSTANT bigint := (SELECT sum(v.bytes) FROM versions AS v WHERE v.tenant_id = p_tenant AND v.memory_id = p_memory);
BEGIN
  PERFORM memory_replace_content(p_tenant, p_memory, p_version, p_content);
  UPDATE versions AS v SET path = p_path, bytes = memory_version_bytes(v.tenant_id, p_path, v.origin, v.content)
  WHERE v.tenant_id = p_tenant AND v.id = p_version;
  UPDATE tenants AS t SET history_bytes = t.history_bytes - bytes_before + (
    SELECT sum(v.bytes) FROM versions AS v WHERE v.tenant_id = p_tenant AND v.memory_id = p_memory
  ) WHERE t.id = p_tenant AND bytes_before IS NOT NULL;
END
$$;
