-- Immutable for a database in UTF-8, though the conversions in them are not: Citus sends only immutable functions of a column to the shard.

-- Replaces p_removed bytes after the first p_start bytes of a text with p_text.
CREATE OR REPLACE FUNCTION memory_splice(p_content text, p_start integer, p_removed integer, p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN convert_from(
    overlay(convert_to(p_content, 'UTF8') PLACING convert_to(p_text, 'UTF8') FROM p_start + 1 FOR p_removed), 'UTF8'
  );
END
$$;

-- The SHA-256 of a text, in hexadecimal.
CREATE OR REPLACE FUNCTION memory_sha256(p_content text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN encode(sha256(convert_to(p_content, 'UTF8')), 'hex');
END
$$;
