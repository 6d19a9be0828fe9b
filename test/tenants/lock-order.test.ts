/**
 * Changes several keys or tenants simultaneously while another session holds some of their locks, without a deadlock.
 */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { moveTenantData } from '../../src/core/tenants/copy.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { connectTo, createTestDatabase, isCitus, lockWait } from '../support/test-database.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

// On Citus, the other session would have to be on the tenant's node.
describe.skipIf(isCitus())('locks on several rows', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let service: Service;
  let other: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    service = await startService('postgres', { DATABASE_URL: database.url });
    other = await connectTo(database.url);
  });
  afterAll(async () => {
    await other.end();
    await service.close();
    await database.drop();
  });

  async function newTenant() {
    const tenant = freshTenant('locks');
    await new Tenants(service.database).create(tenant);
    return tenant;
  }

  async function newKey(purpose: { tenant: string | null; onlyTenants?: string[] }) {
    const { hash, id } = newApiKey();
    const { onlyTenants = null, tenant } = purpose;
    const common = { access: 'read_write', label: '', expiresAt: null, isAdmin: tenant === null } as const;
    await new Keys(service.database).create({ hash, id, tenant, onlyTenants, ...common });
    return { hash, id };
  }

  it('records the last use for other keys if one key is locked', async () => {
    const tenant = await newTenant();
    const [first, second] = [await newKey({ tenant }), await newKey({ tenant })];
    await other.query('BEGIN');
    await other.query('SELECT FROM api_keys WHERE hash = $1 FOR UPDATE', [second.hash]);
    await new Keys(service.database).noteUse([first.hash, second.hash]);
    await other.query('COMMIT');
    const { rows } = await other.query(
      'SELECT id, last_used_at IS NOT NULL AS "isUsed" FROM api_keys WHERE tenant_id = $1',
      [tenant],
    );
    expect(new Map(rows.map(({ id, isUsed }) => [id, isUsed]))).toStrictEqual(
      new Map([
        [first.id, true],
        [second.id, false],
      ]),
    );
  });

  /** Changes all secrets of a rotated key, as `revoke` does, while `work` waits for its current secret. */
  async function revokeDuring<T>(id: string, work: () => Promise<T>): Promise<T> {
    await other.query('BEGIN');
    await other.query('SELECT FROM api_keys WHERE id = $1 AND rotated_at IS NULL FOR UPDATE', [id]);
    const working = work();
    await Promise.race([working, lockWait(database.url)]);
    await other.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id]);
    await other.query('COMMIT');
    return working;
  }

  it('avoids a deadlock when a tenant is deleted while its rotated key is revoked', async () => {
    const tenant = await newTenant();
    const { id } = await newKey({ tenant });
    await new Keys(service.database).rotate(id, 600);
    expect(await revokeDuring(id, () => new Tenants(service.database).delete(tenant))).toMatchObject({
      keys: 2,
    });
  });

  it('avoids a deadlock when a tenant is renamed while its rotated key is revoked', async () => {
    const tenant = await newTenant();
    const { id } = await newKey({ tenant });
    await new Keys(service.database).rotate(id, 600);
    const renamed = revokeDuring(id, () => moveTenantData(service.database, tenant, `${tenant}-new`));
    expect(await renamed).toMatchObject({ keys: 2 });
  });

  it('avoids a deadlock when a tenant is deleted while a rotated admin key scoped to it is revoked', async () => {
    const tenant = await newTenant();
    const { id } = await newKey({ tenant: null, onlyTenants: [tenant] });
    await new Keys(service.database).rotate(id, 600);
    expect(await revokeDuring(id, () => new Tenants(service.database).delete(tenant))).toMatchObject({
      keys: 0,
    });
  });

  it('avoids a deadlock when two tenants that mount each other are renamed', async () => {
    for (let round = 0; round < 10; round++) {
      const [a, b] = [await newTenant(), await newTenant()];
      const mount = (tenant: string) => ({
        tenant,
        name: 'other',
        access: 'read_only' as const,
        instructions: '',
      });
      await setMount(service.database, a, mount(b));
      await setMount(service.database, b, mount(a));
      const renamed = await Promise.all(
        [a, b].map((tenant) => moveTenantData(service.database, tenant, `${tenant}-new`)),
      );
      expect(renamed.flatMap(({ mountedBy }) => mountedBy)).toHaveLength(2);
    }
  });
});
