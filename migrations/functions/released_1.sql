-- The functions as version 1 of them was released. Replicas of that release call these while they run beside newer ones, so they
-- record history too: by an unknown actor, and kept unless the tenant says otherwise. Drop them, and memory_begin_write and
-- memory_make_directories(text, text, bigint), in the release after the one with history.

CREATE OR REPLACE FUNCTION memory_create(
  p_tenant text, p_path text, p_content text, p_version uuid, p_auto_create boolean,
  p_max_files bigint, p_max_bytes bigint,
  p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE sql VOLATILE AS $$
  SELECT f.outcome, f.data FROM memory_create(
    p_tenant, p_path, p_content, p_version, p_auto_create, p_max_files, p_max_bytes,
    NULL::jsonb, p_key_hash, p_request_hash, p_answer, p_wait
  ) AS f
$$;

CREATE OR REPLACE FUNCTION memory_write(
  p_tenant text, p_path text, p_read_version uuid, p_start integer, p_removed integer, p_text text, p_version uuid,
  p_max_files bigint, p_max_bytes bigint,
  p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE sql VOLATILE AS $$
  SELECT f.outcome, f.data FROM memory_write(
    p_tenant, p_path, p_read_version, p_start, p_removed, p_text, p_version, p_max_files, p_max_bytes, NULL::bigint,
    NULL::jsonb, p_key_hash, p_request_hash, p_answer, p_wait
  ) AS f
$$;

CREATE OR REPLACE FUNCTION memory_delete(
  p_tenant text, p_path text,
  p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE sql VOLATILE AS $$
  SELECT f.outcome, f.data FROM memory_delete(
    p_tenant, p_path, gen_random_uuid(), NULL::bigint,
    NULL::jsonb, p_key_hash, p_request_hash, p_answer, p_wait
  ) AS f
$$;

CREATE OR REPLACE FUNCTION memory_rename(
  p_tenant text, p_from text, p_to text, p_max_path_bytes integer, p_max_depth integer,
  p_max_files bigint,
  p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE sql VOLATILE AS $$
  SELECT f.outcome, f.data FROM memory_rename(
    p_tenant, p_from, p_to, p_max_path_bytes, p_max_depth, p_max_files, gen_random_uuid(), NULL::bigint,
    NULL::jsonb, p_key_hash, p_request_hash, p_answer, p_wait
  ) AS f
$$;

CREATE OR REPLACE FUNCTION memory_expire(
  p_tenant text, p_before timestamptz, p_limit integer, OUT files bigint, OUT bytes bigint
) LANGUAGE sql VOLATILE AS $$
  SELECT f.files, f.bytes FROM memory_expire(p_tenant, p_before, p_limit, gen_random_uuid(), NULL::bigint, NULL::jsonb) AS f
$$;

-- Counts rows of history too, so a replica that erases a tenant goes on until there are none.
CREATE OR REPLACE FUNCTION memory_erase(p_tenant text, p_limit integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  entries CONSTANT bigint := memory_erase_entries(p_tenant, p_limit);
  history CONSTANT record := memory_erase_history(p_tenant, p_limit);
BEGIN
  RETURN entries + history.versions + history.contents + history.directories;
END
$$;
