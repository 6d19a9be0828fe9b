-- The directory above `p_path` that is a file, if there is one. Only one can be: no file has children.
CREATE OR REPLACE FUNCTION memory_file_above(p_tenant text, p_path text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT e.path FROM entries AS e
    WHERE e.tenant_id = p_tenant AND e.path = ANY (memory_ancestors(p_path)) AND e.kind = 'file'
  );
END
$$;

-- The quota that so many more directories would exceed, or null, as memory_exceeded_quota has it. A tenant may have
-- as many directories, without the root, as files. They are counted when one is made, which is rare.
CREATE OR REPLACE FUNCTION memory_exceeded_directories(
  p_tenant text, p_more bigint, p_max_directories bigint
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
  used bigint;
BEGIN
  IF p_more > 0 AND p_max_directories > 0 THEN
    SELECT count(*) INTO used FROM entries AS e WHERE e.tenant_id = p_tenant AND e.dir_path > '/memories';
    IF used + p_more > p_max_directories THEN
      RETURN jsonb_build_object('of', 'directories', 'used', used, 'limit', p_max_directories, 'needed', p_more);
    END IF;
  END IF;
  RETURN NULL;
END
$$;

-- Makes the directories above `p_path` that are missing, in a change at p_at, unless that exceeds a quota, which it
-- then returns.
CREATE OR REPLACE FUNCTION memory_make_directories(
  p_tenant text, p_path text, p_max_directories bigint, p_at timestamptz
) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  missing text[];
  exceeded jsonb;
BEGIN
  SELECT array_agg(a.path) INTO missing FROM unnest(memory_ancestors(p_path)) AS a (path)
  WHERE NOT EXISTS (SELECT FROM entries AS e WHERE e.tenant_id = p_tenant AND e.path = a.path);
  exceeded := memory_exceeded_directories(p_tenant, cardinality(array_remove(missing, '/memories')), p_max_directories);
  IF exceeded IS NULL THEN
    INSERT INTO entries AS e (tenant_id, path, parent_path, kind, changed_at)
    SELECT p_tenant, m.path, memory_parent(m.path), 'dir', p_at FROM unnest(missing) AS m (path);
  END IF;
  RETURN exceeded;
END
$$;
