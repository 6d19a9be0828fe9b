-- Statistics for the planner, from a sample that is deleted again. Without any, it expects one row of each tenant, so all indexes that
-- begin with the tenant cost the same, and a look-up by path may read the whole tenant. Postgres' autovacuum replaces them once there is
-- data; the embedded database has no autovacuum.
DO $$
BEGIN
	IF EXISTS (SELECT FROM entries) THEN
		RETURN;
	END IF;
	INSERT INTO tenants (id) SELECT 'sample-' || t FROM generate_series(1, 20) AS t;
	INSERT INTO entries (tenant_id, path, parent_path, kind)
	SELECT id, '/memories', NULL, 'dir' FROM tenants WHERE id LIKE 'sample-%';
	INSERT INTO entries (tenant_id, path, parent_path, kind)
	SELECT id, '/memories/d' || d, '/memories', 'dir' FROM tenants, generate_series(1, 3) AS d WHERE id LIKE 'sample-%';
	INSERT INTO entries (tenant_id, path, parent_path, kind, content, version)
	SELECT id, '/memories/d' || d || '/f' || f, '/memories/d' || d, 'file', 'sample', gen_random_uuid()
	FROM tenants, generate_series(1, 3) AS d, generate_series(1, 10) AS f WHERE id LIKE 'sample-%';
	INSERT INTO versions (tenant_id, id, memory_id, operation, path, created_at, superseded_at)
	SELECT tenant_id, gen_random_uuid(), version, 'created', path, now() - n * interval '1 day', now() - n * interval '1 hour'
	FROM entries, generate_series(1, 3) AS n WHERE tenant_id LIKE 'sample-%' AND kind = 'file';
	ANALYZE entries;
	ANALYZE versions;
	DELETE FROM versions WHERE tenant_id LIKE 'sample-%';
	DELETE FROM entries WHERE tenant_id LIKE 'sample-%';
	DELETE FROM tenants WHERE id LIKE 'sample-%';
END
$$;
