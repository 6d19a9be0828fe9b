-- Whether usage can grow by p_more within p_max. 0 means no limit, and shrinking is always allowed.
CREATE OR REPLACE FUNCTION memory_fits(p_used bigint, p_more bigint, p_max bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT p_more <= 0 OR p_max = 0 OR p_used + p_more <= p_max
$$;

-- Returns the quota that a write would exceed, or null: {of, used, limit, needed}.
CREATE OR REPLACE FUNCTION memory_exceeded_quota(
  p_files bigint, p_max_files bigint, p_more_files bigint, p_bytes bigint, p_max_bytes bigint, p_more_bytes bigint
) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF NOT memory_fits(p_files, p_more_files, p_max_files) THEN
    RETURN jsonb_build_object('of', 'files', 'used', p_files, 'limit', p_max_files, 'needed', p_more_files);
  ELSIF NOT memory_fits(p_bytes, p_more_bytes, p_max_bytes) THEN
    RETURN jsonb_build_object('of', 'bytes', 'used', p_bytes, 'limit', p_max_bytes, 'needed', p_more_bytes);
  END IF;
  RETURN NULL;
END
$$;

-- Returns the quota that a tenant would exceed with additional files, directories, and bytes, formatted as by
-- memory_exceeded_quota, or null. p_max_files and p_max_bytes are defaults for tenants without these settings.
CREATE OR REPLACE FUNCTION memory_exceeded(
  p_tenant text, p_files bigint, p_directories bigint, p_bytes bigint, p_max_files bigint, p_max_bytes bigint
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
  tenant record;
BEGIN
  SELECT t.file_count, COALESCE(t.max_files, p_max_files) AS max_files, t.byte_count, COALESCE(t.max_bytes, p_max_bytes) AS max_bytes
  INTO tenant FROM tenants AS t WHERE t.id = p_tenant;
  RETURN COALESCE(
    memory_exceeded_quota(tenant.file_count, tenant.max_files, p_files, tenant.byte_count, tenant.max_bytes, p_bytes),
    memory_exceeded_directories(p_tenant, p_directories, tenant.max_files)
  );
END
$$;

-- Adds files and bytes to a locked tenant's usage. If these or the additional directories exceed a quota, changes no
-- counters and returns the quota.
CREATE OR REPLACE FUNCTION memory_reserve(
  p_tenant text, p_files bigint, p_directories bigint, p_bytes bigint, p_max_files bigint, p_max_bytes bigint
) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  exceeded CONSTANT jsonb := memory_exceeded(p_tenant, p_files, p_directories, p_bytes, p_max_files, p_max_bytes);
BEGIN
  IF exceeded IS NULL THEN
    UPDATE tenants AS t SET file_count = t.file_count + p_files, byte_count = t.byte_count + p_bytes WHERE t.id = p_tenant;
  END IF;
  RETURN exceeded;
END
$$;
