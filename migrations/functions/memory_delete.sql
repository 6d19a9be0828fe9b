-- Deletes a file, or a directory with all below it. p_change is a new id, which those of the recorded versions come from.
--
-- Outcomes beside those of memory_open_write: missing, deleted.
CREATE OR REPLACE FUNCTION memory_delete(
  p_tenant text, p_path text, p_change uuid, p_history_days bigint,
  p_origin jsonb, p_key_hash text, p_request_hash text, p_answer text, p_wait boolean,
  OUT outcome text, OUT data jsonb
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  opened CONSTANT record := memory_open_write(p_tenant, p_history_days, p_key_hash, p_request_hash, p_wait);
  deleted record;
BEGIN
  IF opened.outcome IS NOT NULL THEN
    outcome := CASE opened.outcome WHEN 'unknown_tenant' THEN 'missing' ELSE opened.outcome END;
    data := opened.data;
    RETURN;
  END IF;

  deleted := memory_delete_entries(p_tenant, p_path, opened.at, opened.keeps_history, p_change, p_origin);
  IF deleted.entries = 0 THEN
    outcome := 'missing';
    RETURN;
  END IF;
  IF p_key_hash IS NOT NULL THEN
    PERFORM memory_store_answer(p_tenant, p_key_hash, p_request_hash, p_answer, false);
  END IF;
  outcome := 'deleted';
END
$$;
