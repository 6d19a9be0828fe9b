-- Stores a write's answer under its idempotency key. The caller holds the tenant's lock and knows from
-- memory_open_write that the key has no answer yet.
CREATE OR REPLACE FUNCTION memory_store_answer(
  p_tenant text, p_key_hash text, p_request_hash text, p_answer text, p_is_error boolean
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error)
  VALUES (p_tenant, p_key_hash, p_request_hash, p_answer, p_is_error);
END
$$;
