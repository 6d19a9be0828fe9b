-- Keeps a tenant's shard where it is until the transaction ends. If the shard moved between the lock of the tenant
-- and the end, the lock would stay with the row that is left behind, and other writers would not wait for it.
CREATE OR REPLACE FUNCTION memory_hold_shard(p_tenant text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  share_lock CONSTANT integer := 5;
  shard bigint;
  held bigint;
BEGIN
  LOOP
    -- Null while the tables are not distributed. It may have become another one while this waited for the lock.
    shard := (
      SELECT get_shard_id_for_distribution_column('public.tenants', p_tenant)
      FROM pg_dist_partition AS p WHERE p.logicalrelid = 'public.tenants'::regclass
    );
    EXIT WHEN shard IS NULL OR shard = held;
    PERFORM lock_shard_metadata(share_lock, ARRAY[shard]);
    held := shard;
  END LOOP;
  RETURN true;
END
$$;
