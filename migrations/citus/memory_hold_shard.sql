-- Prevents Citus from moving a tenant's shard until the transaction ends. If the shard moved after the tenant was
-- locked, the lock would apply to the old row, and other writers would not wait for it.
CREATE OR REPLACE FUNCTION memory_hold_shard(p_tenant text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  share_lock CONSTANT integer := 5;
  shard bigint;
  held bigint;
BEGIN
  LOOP
    -- Null if the tables are not distributed. The shard may have moved while this function waited for the lock.
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
