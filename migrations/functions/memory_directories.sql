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

-- Makes the directories above `p_path` that are missing.
CREATE OR REPLACE FUNCTION memory_make_directories(p_tenant text, p_path text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO entries AS e (tenant_id, path, parent_path, kind)
  SELECT p_tenant, d.path, memory_parent(d.path), 'dir' FROM unnest(memory_ancestors(p_path)) AS d (path)
  ON CONFLICT (tenant_id, path) DO NOTHING;
END
$$;
