-- Stores a failed write's result under its idempotency key. The write changed no data.
--
-- Outcomes in addition to memory_open_write: recorded. For a missing tenant, the outcome is recorded, but the result
-- is not stored.
CREATE OR REPLACE FUNCTION memory_record_failure(
  p_tenant text, p_key_hash text, p_request_hash text, p_result text, p_wait boolean, p_created_at timestamptz DEFAULT NULL,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(
    p_tenant, 1, p_key_hash, p_request_hash, p_wait, p_created_at, p_if_missing => 'recorded'
  );
BEGIN
  outcome := opened.outcome;
  data := opened.data;
  IF outcome IS NOT NULL THEN
    RETURN;
  END IF;
  INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error)
  VALUES (p_tenant, p_key_hash, p_request_hash, p_result, true);
  outcome := 'recorded';
END
$$;
