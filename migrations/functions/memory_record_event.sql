-- Records an event in the change feed that is no change to a file, in the transaction that makes the change. Locks the
-- tenant, and takes a time after all its changes and events. Drafts have no events, and neither has a missing tenant.
--
-- A key's event does not lock the tenant, because a revocation must not wait for a write. It is therefore only in the
-- list of all tenants' changes, which is read by transactions. So is a job's event. p_tenant is empty for a job, and for
-- a key without a tenant.
CREATE OR REPLACE FUNCTION memory_record_event(p_tenant text, p_type text, p_actor jsonb, p_details jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  is_held CONSTANT boolean := memory_hold_shard(p_tenant);
  is_fleet_only CONSTANT boolean := starts_with(p_type, 'key_') OR p_type = 'job_ended';
  last_at timestamptz;
  event_at timestamptz;
  event_id uuid;
BEGIN
  IF NOT is_fleet_only THEN
    SELECT GREATEST(t.last_change_at, t.last_event_at) INTO last_at FROM tenants AS t
    WHERE t.id = p_tenant AND t.draft_of IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      RETURN;
    END IF;
  END IF;
  -- An earlier tenant with the same ID may have left events.
  event_at := memory_next_time(GREATEST(last_at, (SELECT max(e.at) FROM tenant_events AS e WHERE e.tenant_id = p_tenant)));
  event_id := memory_version_id(memory_id_prefix(event_at), gen_random_uuid());
  INSERT INTO tenant_events (tenant_id, at, id, type, actor, details, fleet_only)
  VALUES (p_tenant, event_at, event_id, p_type, p_actor, p_details, is_fleet_only);
  UPDATE tenants AS t SET last_event_at = event_at WHERE t.id = p_tenant AND NOT is_fleet_only;
  PERFORM memory_log_change(p_tenant, event_at);
END
$$;
