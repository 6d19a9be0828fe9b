-- Appends a change to the change log, like the function on one server. The function may run on another node than the
-- tenant's, so the statement computes its transaction and its node there, from a column. A join with the reference table
-- would lock all shards. A key without a tenant (p_tenant is empty) has no row in tenants.
CREATE OR REPLACE FUNCTION memory_log_change(p_tenant text, p_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  current_part CONSTANT smallint := (SELECT s.part FROM change_log_state AS s);
BEGIN
  IF current_part IS NOT NULL AND p_at IS NOT NULL THEN
    INSERT INTO change_log (tenant_id, at, xid, node, part)
    SELECT t.id, p_at, memory_local_xid(t.id), memory_local_node(t.id), current_part FROM tenants AS t
    WHERE t.id = p_tenant AND t.draft_of IS NULL;
    IF p_tenant = '' THEN
      INSERT INTO change_log (tenant_id, at, xid, node, part)
      SELECT e.tenant_id, e.at, memory_local_xid(e.tenant_id), memory_local_node(e.tenant_id), current_part
      FROM tenant_events AS e WHERE e.tenant_id = p_tenant AND e.at = p_at;
    END IF;
  END IF;
END
$$;

-- Returns the transaction's number on the node that executes the statement. Declared immutable, like memory_first_id, so
-- that Citus calls it there.
CREATE OR REPLACE FUNCTION memory_local_xid(p_tenant text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN pg_current_xact_id()::text::bigint;
END
$$;

-- Returns the number of the node that executes the statement.
CREATE OR REPLACE FUNCTION memory_local_node(p_tenant text) RETURNS integer
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (SELECT groupid FROM pg_dist_local_group);
END
$$;
