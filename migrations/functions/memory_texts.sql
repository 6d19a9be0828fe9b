-- Returns a text's SHA-256. Declared immutable, which is valid for UTF-8 databases: Citus only pushes immutable
-- functions on columns down to the shard.
CREATE OR REPLACE FUNCTION memory_sha256(p_content text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN sha256(convert_to(p_content, 'UTF8'));
END
$$;

-- Returns a version's content as bytes, reconstructed from the next newer version that is stored whole, or from the
-- current version. Null for deletions, redacted versions, and missing versions.
CREATE OR REPLACE FUNCTION memory_content_bytes(p_tenant text, p_memory uuid, p_version uuid) RETURNS bytea
LANGUAGE plpgsql STABLE AS $$
DECLARE
  step record;
  starts integer[] := '{}';
  lengths integer[] := '{}';
  texts text[] := '{}';
  count integer := 0;
  whole text;
  is_found boolean := false;
  bytes bytea;
BEGIN
  FOR step IN
    SELECT v.id, v.splice_start, v.splice_length, v.content FROM versions AS v
    WHERE v.tenant_id = p_tenant AND v.memory_id = p_memory AND v.id >= p_version ORDER BY v.id
  LOOP
    IF count = 0 AND step.id <> p_version THEN
      RETURN NULL;
    ELSIF step.splice_start IS NULL THEN
      whole := step.content;
      is_found := true;
      EXIT;
    END IF;
    count := count + 1;
    starts[count] := step.splice_start;
    lengths[count] := step.splice_length;
    texts[count] := step.content;
  END LOOP;
  IF NOT is_found THEN
    SELECT e.content INTO whole FROM entries AS e
    WHERE e.tenant_id = p_tenant AND e.memory_id = p_memory AND (count > 0 OR e.version = p_version);
  END IF;
  bytes := convert_to(whole, 'UTF8');
  FOR i IN REVERSE count..1 LOOP
    bytes := overlay(bytes PLACING convert_to(texts[i], 'UTF8') FROM starts[i] + 1 FOR lengths[i]);
  END LOOP;
  RETURN bytes;
END
$$;

CREATE OR REPLACE FUNCTION memory_content(p_tenant text, p_memory uuid, p_version uuid) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN convert_from(memory_content_bytes(p_tenant, p_memory, p_version), 'UTF8');
END
$$;

-- Returns the contents of several versions. `item` is the position in the arrays, from 1.
CREATE OR REPLACE FUNCTION memory_contents(p_tenant text, p_memories uuid[], p_versions uuid[])
RETURNS TABLE (item integer, content text) LANGUAGE plpgsql STABLE AS $$
BEGIN
  FOR i IN 1..cardinality(p_versions) LOOP
    item := i;
    content := memory_content(p_tenant, p_memories[i], p_versions[i]);
    RETURN NEXT;
  END LOOP;
END
$$;

-- Returns a file's superseded versions before p_before that have content, newest first, until their contents reach
-- p_bytes in total. `is_right`: whether the content has the size and the hash in its row. With p_with_contents, also
-- returns valid contents.
CREATE OR REPLACE FUNCTION memory_past_contents(
  p_tenant text, p_memory uuid, p_before uuid, p_bytes bigint, p_with_contents boolean
) RETURNS TABLE (id uuid, is_right boolean, content text) LANGUAGE plpgsql STABLE AS $$
DECLARE
  step record;
  bytes bytea;
  read bigint := 0;
BEGIN
  FOR step IN
    SELECT v.id, v.splice_start, v.splice_length, v.content, v.size_bytes, v.content_sha256 FROM versions AS v
    WHERE v.tenant_id = p_tenant AND v.memory_id = p_memory AND v.id < p_before ORDER BY v.id DESC
  LOOP
    EXIT WHEN read >= p_bytes;
    IF step.splice_start IS NULL THEN
      bytes := convert_to(step.content, 'UTF8');
      CONTINUE WHEN bytes IS NULL;
    ELSIF bytes IS NULL THEN
      bytes := memory_content_bytes(p_tenant, p_memory, step.id);
    ELSE
      bytes := overlay(bytes PLACING convert_to(step.content, 'UTF8') FROM step.splice_start + 1 FOR step.splice_length);
    END IF;
    read := read + octet_length(bytes) + 200;
    id := step.id;
    is_right := COALESCE(octet_length(bytes) = step.size_bytes AND sha256(bytes) = step.content_sha256, false);
    content := CASE WHEN is_right AND p_with_contents THEN convert_from(bytes, 'UTF8') END;
    RETURN NEXT;
    EXIT WHEN NOT is_right;
  END LOOP;
END
$$;

-- Replaces a superseded version's content. Versions that are splices of this version keep their contents.
CREATE OR REPLACE FUNCTION memory_replace_content(p_tenant text, p_memory uuid, p_version uuid, p_content text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM memory_make_whole(p_tenant, p_memory, ARRAY[p_version]);
  UPDATE versions AS v SET
    content = p_content, splice_start = NULL, splice_length = NULL, size_bytes = octet_length(p_content),
    content_sha256 = memory_sha256(p_content), bytes = memory_version_bytes(v.tenant_id, v.path, v.origin, p_content)
  WHERE v.tenant_id = p_tenant AND v.id = p_version;
END
$$;
