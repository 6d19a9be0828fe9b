-- Whether usage can grow by p_more within p_max. 0 means no limit, and shrinking is always allowed.
CREATE OR REPLACE FUNCTION memory_fits(p_used bigint, p_more bigint, p_max bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT p_more <= 0 OR p_max = 0 OR p_used + p_more <= p_max
$$;

-- Whether usage is near a limit: 90 % of it or more. 0 means no limit.
CREATE OR REPLACE FUNCTION memory_is_near(p_used bigint, p_max bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT p_max > 0 AND 10 * p_used >= 9 * p_max
$$;

-- Whether usage that grows by p_more comes near a limit.
CREATE OR REPLACE FUNCTION memory_nears(p_used bigint, p_more bigint, p_max bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT memory_is_near(p_used + p_more, p_max) AND NOT memory_is_near(p_used, p_max)
$$;

-- Records an event for each limit that a change has brought near. The change's transaction has locked the tenant.
--
-- - p_files, p_bytes: usage before the change
-- - p_own_max_files, p_own_max_bytes: the tenant's settings before the change
-- - p_max_files, p_max_bytes: defaults for tenants without these settings
CREATE OR REPLACE FUNCTION memory_record_near_limits(
  p_tenant text, p_files bigint, p_own_max_files bigint, p_bytes bigint, p_own_max_bytes bigint, p_max_files bigint, p_max_bytes bigint,
  p_actor jsonb
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  tenant record;
  near record;
BEGIN
  SELECT t.file_count AS files, COALESCE(t.max_files, p_max_files) AS max_files, t.byte_count AS bytes, COALESCE(t.max_bytes, p_max_bytes) AS max_bytes
  INTO tenant FROM tenants AS t WHERE t.id = p_tenant;
  FOR near IN
    SELECT u.name, 100 * u.used / u.max AS percent FROM (VALUES
      ('files', p_files, COALESCE(p_own_max_files, p_max_files), tenant.files, tenant.max_files),
      ('bytes', p_bytes, COALESCE(p_own_max_bytes, p_max_bytes), tenant.bytes, tenant.max_bytes)
    ) AS u (name, used_before, max_before, used, max)
    WHERE memory_is_near(u.used, u.max) AND NOT memory_is_near(u.used_before, u.max_before)
  LOOP
    PERFORM memory_record_event(
      p_tenant, 'limit_near', COALESCE(p_actor, '{"type": "anonymous"}'),
      jsonb_build_object('limit', near.name, 'used_percent', near.percent)
    );
  END LOOP;
END
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
