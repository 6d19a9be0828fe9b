-- Starts a write: locks the tenant, and looks up an earlier result under the request's idempotency key. After the lock,
-- each further statement in the write sees the latest committed state, and other writes to the tenant wait.
--
-- Returns the tenant's usage and limits, the change's time (`at`), and the prefix for its version IDs (`id_prefix`).
-- `keeps_history` is whether superseded versions are recorded. p_history_days is the default for tenants without this
-- setting.
--
-- A null outcome means that the write may continue. Otherwise, the write ends with the outcome:
--
-- - skipped: p_wait is false, and another session holds the lock or the tenant does not exist
-- - p_if_missing (unknown_tenant by default): the tenant does not exist
-- - replaced: the tenant was not created at p_created_at, because it was deleted, and another may have its ID. If
--   p_created_at is -infinity: the tenant exists
-- - replayed: the key has a stored result {content, isError}
-- - key_reused: the key has a stored result for a different request
-- - p_if_archived: the tenant is archived, so that files may only be deleted (null allows the write)
CREATE OR REPLACE FUNCTION memory_open_write(
  p_tenant text, p_history_days bigint, p_key_hash text, p_request_hash text, p_wait boolean, p_created_at timestamptz DEFAULT NULL,
  p_if_missing text DEFAULT 'unknown_tenant', p_if_archived text DEFAULT NULL,
  OUT outcome text, OUT data jsonb, OUT files bigint, OUT max_files bigint, OUT bytes bigint, OUT max_bytes bigint,
  OUT history_bytes bigint, OUT max_history_bytes bigint, OUT at timestamptz, OUT id_prefix text, OUT keeps_history boolean
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  is_held CONSTANT boolean := memory_hold_shard(p_tenant);
  history_days bigint;
  last_at timestamptz;
  created_at timestamptz;
  is_archived boolean;
  stored record;
BEGIN
  IF p_wait THEN
    SELECT t.file_count, t.max_files, t.byte_count, t.max_bytes, t.history_bytes, t.max_history_bytes, t.history_days, GREATEST(t.last_change_at, t.last_event_at),
      t.archived_at IS NOT NULL, t.created_at
    INTO files, max_files, bytes, max_bytes, history_bytes, max_history_bytes, history_days, last_at, is_archived, created_at
    FROM tenants AS t WHERE t.id = p_tenant FOR NO KEY UPDATE;
  ELSE
    SELECT t.file_count, t.max_files, t.byte_count, t.max_bytes, t.history_bytes, t.max_history_bytes, t.history_days, GREATEST(t.last_change_at, t.last_event_at),
      t.archived_at IS NOT NULL, t.created_at
    INTO files, max_files, bytes, max_bytes, history_bytes, max_history_bytes, history_days, last_at, is_archived, created_at
    FROM tenants AS t WHERE t.id = p_tenant FOR NO KEY UPDATE SKIP LOCKED;
  END IF;
  IF NOT FOUND THEN
    outcome := CASE WHEN NOT p_wait THEN 'skipped' WHEN isfinite(p_created_at) THEN 'replaced' ELSE p_if_missing END;
    RETURN;
  ELSIF created_at <> p_created_at THEN
    outcome := 'replaced';
    RETURN;
  END IF;
  at := memory_next_time(last_at);
  id_prefix := memory_id_prefix(at);
  keeps_history := COALESCE(history_days, p_history_days) > 0;
  IF p_key_hash IS NOT NULL THEN
    SELECT i.request_hash, i.content, i.is_error INTO stored
    FROM idempotency_keys AS i WHERE i.tenant_id = p_tenant AND i.key_hash = p_key_hash;
    IF FOUND THEN
      -- A redaction clears the request's hash. After that, every request with the key replays the result.
      IF stored.request_hash IN (p_request_hash, '') THEN
        outcome := 'replayed';
        data := jsonb_build_object('content', stored.content, 'isError', stored.is_error);
      ELSE
        outcome := 'key_reused';
      END IF;
      RETURN;
    END IF;
  END IF;
  IF is_archived THEN
    outcome := p_if_archived;
  END IF;
END
$$;
