/** Changes to a key, or to its tenant, while another change to the key is not committed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { parseQuery } from '../../src/core/database/query.ts';
import { moveTenantData } from '../../src/core/tenants/copy.ts';
import { type KeyPurpose, Keys } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { createTestDatabase, lockWait, skipOnCitus } from '../support/test-database.ts';

describe("a tenant's keys", () => {
  skipOnCitus('its nodes lock in other orders');
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let database: Database;
  beforeAll(async () => {
    own = await createTestDatabase();
    database = await openDatabase(loadConfig({ AUTH: 'keys', DATABASE_URL: own.url }));
  });
  afterAll(async () => {
    await database.close();
    await own.drop();
  });

  const purpose: KeyPurpose = { tenant: 'acme', access: 'read_write', label: '', expiresAt: null };
  const scoped: KeyPurpose = { ...purpose, tenant: null, isAdmin: true, onlyTenants: ['acme'] };
  const countLive = async () =>
    (
      await database.query(
        parseQuery<Record<never, never>, { id: string }>(
          'live_keys',
          "SELECT id FROM api_keys WHERE revoked_at IS NULL AND (tenant_id = 'acme' OR 'acme' = ANY (only_tenants))",
        ),
        {},
      )
    ).rows;

  /**
   * Returns keys in a database in which `change` starts and waits for a lock before a transaction with this statement
   * is committed.
   */
  function keysDuring(statement: string, change: () => Promise<unknown>) {
    let changed: Promise<unknown> | undefined;
    const keys = new Keys({
      ...database,
      transaction: (work) =>
        database.transaction((query) =>
          work(async (each, params) => {
            const result = await query(each, params);
            if (each.name === statement) {
              changed = change();
              await lockWait(own.url);
            }
            return result;
          }),
        ),
    });
    return { keys, changed: () => changed };
  }

  it('revokes a secret that a rotation adds while the key is being revoked', async () => {
    await new Tenants(database).create('acme');
    const { id } = await new Keys(database).issue(purpose);
    const { keys, changed } = keysDuring('add_secret', () => new Keys(database).revoke(id));
    await keys.rotate(id, 3600);
    await changed();
    expect(await countLive()).toStrictEqual([]);
  });

  it.each([
    ['deleted', () => new Tenants(database).delete('acme')],
    ['renamed', () => moveTenantData(database, 'acme', `globex-${Math.random()}`)],
  ])('leaves no valid key if the tenant is %s while a key is created or rotated', async (_, change) => {
    for (const [statement, work] of [
      ['create_key', (keys: Keys) => keys.issue(purpose)],
      ['create_key', (keys: Keys) => keys.issue(scoped)],
      ['add_secret', (keys: Keys, id: string) => keys.rotate(id, 3600)],
    ] as const) {
      await new Tenants(database).create('acme');
      const { id } = await new Keys(database).issue(purpose);
      const { keys, changed } = keysDuring(statement, change);
      await work(keys, id);
      await changed();
      expect(await countLive()).toStrictEqual([]);
    }
  });
});
