/**
 * Sessions after the loss of a node in their Citus cluster. A trigger simulates the loss: only sessions that are open
 * at that time fail.
 */
import { expect, it } from 'vitest';
import { beginAudit } from '../../src/core/tenants/audit.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';

const LOSE_A_NODE = `
CREATE TABLE stale_sessions (pid integer);
CREATE FUNCTION fail_on_stale_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF pg_backend_pid() IN (SELECT pid FROM stale_sessions) THEN
    RAISE EXCEPTION 'failure on connection marked as essential: worker:5432' USING ERRCODE = 'XX000';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER lost_node BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION fail_on_stale_session()`;

describeServiceOnOwnDatabase('a cluster after a node died', (service, kind) => {
  it.skipIf(kind === 'pglite')(
    'records each audited change on new connections after a node in the cluster died',
    async () => {
      const { database, query } = service();
      const record = async (requestId: string) => {
        const intent = {
          action: 'createTenant',
          channel: 'admin_api',
          address: '127.0.0.1',
          dryRun: false,
        } as const;
        const actor = { type: 'operator', name: 'ada' } as const;
        const event = await beginAudit(database, { ...intent, actor, requestId }, {}, (error) => {
          throw error;
        });
        await event.finish('ok');
      };
      // Opens several connections.
      await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(record));
      await query(LOSE_A_NODE);
      const [{ stale } = {}] = await query(
        `WITH stale AS (INSERT INTO stale_sessions SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'memory-service' RETURNING pid)
       SELECT count(*)::integer AS stale FROM stale`,
      );
      expect(stale).toBeGreaterThan(3);
      for (const id of ['g', 'h', 'i', 'j', 'k', 'l']) await record(id);
      const rows = await query(
        "SELECT request_id AS id, outcome FROM audit_events WHERE request_id >= 'g' ORDER BY 1",
      );
      expect(rows).toStrictEqual(['g', 'h', 'i', 'j', 'k', 'l'].map((id) => ({ id, outcome: 'ok' })));
    },
  );
});
