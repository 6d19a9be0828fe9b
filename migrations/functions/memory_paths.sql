-- Rules about paths. The planner inlines the SQL functions, so queries that call them can still use indexes.

-- Returns the parent directory of `p_path`; null for the root.
CREATE OR REPLACE FUNCTION memory_parent(p_path text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT NULLIF(left(p_path, -strpos(reverse(p_path), '/')), '')
$$;

-- Whether `p_path` is at or below `p_top`. '0' follows '/', so the condition is a primary key range, and `p_top` needs
-- no escaping. Path columns have the collation "C", and parameters have the database's collation.
CREATE OR REPLACE FUNCTION memory_in_subtree(p_path text, p_top text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT p_path COLLATE "C" >= p_top AND p_path COLLATE "C" < p_top || '0' AND (p_path = p_top OR p_path COLLATE "C" >= p_top || '/')
$$;

-- Returns the ancestors of `p_path`, starting with the root.
CREATE OR REPLACE FUNCTION memory_ancestors(p_path text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  ancestors text[] := '{}';
  parent text := memory_parent(p_path);
BEGIN
  WHILE parent IS NOT NULL LOOP
    ancestors := parent || ancestors;
    parent := memory_parent(parent);
  END LOOP;
  RETURN ancestors;
END
$$;
