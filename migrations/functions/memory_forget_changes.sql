-- Removes all rows from a partition of the change log. Returns the last transaction in it for each node. Waits at most a
-- second for the log's readers, because other readers wait meanwhile. Writes use another partition.
CREATE OR REPLACE FUNCTION memory_forget_changes(p_part integer) RETURNS TABLE (node integer, xid bigint)
LANGUAGE plpgsql VOLATILE SET lock_timeout = '1s' AS $$
BEGIN
  EXECUTE format('LOCK TABLE change_log_%s IN ACCESS EXCLUSIVE MODE', p_part);
  RETURN QUERY SELECT l.node, max(l.xid) FROM change_log AS l WHERE l.part = p_part GROUP BY l.node;
  EXECUTE format('TRUNCATE change_log_%s', p_part);
END
$$;
