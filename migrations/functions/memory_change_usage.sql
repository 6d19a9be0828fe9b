-- Adds to what a tenant uses, which may be negative, unless that exceeds a quota. The one place that knows quotas.
--
-- p_max_files and p_max_bytes hold for tenants without limits of their own; 0 means no limit. What shrinks always fits.
-- Returns null when it is counted, otherwise the quota that stands in the way: {of, used, limit, needed}.
CREATE OR REPLACE FUNCTION memory_change_usage(
  p_tenant text, p_files bigint, p_bytes bigint, p_max_files bigint, p_max_bytes bigint
) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  exceeded jsonb;
BEGIN
  UPDATE tenants AS t SET file_count = t.file_count + p_files, byte_count = t.byte_count + p_bytes
  WHERE t.id = p_tenant
    AND (p_files <= 0 OR COALESCE(t.max_files, p_max_files) = 0
      OR t.file_count + p_files <= COALESCE(t.max_files, p_max_files))
    AND (p_bytes <= 0 OR COALESCE(t.max_bytes, p_max_bytes) = 0
      OR t.byte_count + p_bytes <= COALESCE(t.max_bytes, p_max_bytes));
  IF FOUND THEN
    RETURN NULL;
  END IF;
  SELECT CASE
    WHEN p_files > 0 AND u.max_files > 0 AND u.file_count + p_files > u.max_files
    THEN jsonb_build_object('of', 'files', 'used', u.file_count, 'limit', u.max_files, 'needed', p_files)
    ELSE jsonb_build_object('of', 'bytes', 'used', u.byte_count, 'limit', u.max_bytes, 'needed', p_bytes)
  END INTO STRICT exceeded
  FROM (
    SELECT t.file_count, COALESCE(t.max_files, p_max_files) AS max_files,
      t.byte_count, COALESCE(t.max_bytes, p_max_bytes) AS max_bytes
    FROM tenants AS t WHERE t.id = p_tenant
  ) AS u;
  RETURN exceeded;
END
$$;
