/** A replica with a wrong clock: expiry and stored times follow the database's clock. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { cmd } from '../support/step-table.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

// PGlite shares this process's clock.
describe.each([
  ['40 days slow', -40 * DAY_MS],
  ['40 days fast', 40 * DAY_MS],
])('a replica whose clock is %s', (_, skewMs) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService('postgres', { AUTH: 'keys' });
  });
  afterAll(() => service.close());
  afterEach(() => void vi.useRealTimers());
  const skewClock = () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + skewMs });

  /** Creates a tenant with a key that expires in `ms` by the database's clock. */
  async function createKey(ms: number) {
    const tenant = freshTenant('skewed');
    await new Tenants(service.database).create(tenant);
    const { key, hash, id } = newApiKey();
    const expiresAt = new Date(Date.now() + ms).toISOString();
    await new Keys(service.database).create({
      hash,
      id,
      tenant,
      access: 'read_write',
      label: '',
      expiresAt,
    });
    return { id, headers: { authorization: `Bearer ${key}` } };
  }

  it('accepts a valid key and rejects an expired key', async () => {
    const expired = await createKey(-HOUR_MS);
    const valid = await createKey(HOUR_MS);
    skewClock();
    const statuses = [expired, valid].map(
      async ({ headers }) => (await service.execute(cmd.view('/memories'), { headers })).status,
    );
    expect(await Promise.all(statuses)).toStrictEqual([401, 200]);
  });

  it("records the database's time when a file is read and a key is used or revoked", async () => {
    const { id, headers } = await createKey(HOUR_MS);
    await service.execute(cmd.create('/memories/f', 'x'), { headers });
    await service.query("UPDATE entries SET accessed_at = now() - interval '31 days' WHERE kind = 'file'");
    skewClock();
    await service.execute(cmd.view('/memories/f'), { headers });
    await service.app.close();
    await new Keys(service.database).revoke(id);
    const recorded = await service.query(
      `SELECT min(e.accessed_at) > now() - interval '1 hour' AND max(e.accessed_at) <= now() AS accessed,
         last_used_at BETWEEN now() - interval '1 hour' AND now() AS used,
         revoked_at BETWEEN now() - interval '1 hour' AND now() AS revoked
       FROM api_keys AS k JOIN entries AS e ON e.tenant_id = k.tenant_id AND e.kind = 'file' WHERE k.id = $1
       GROUP BY k.id, last_used_at, revoked_at`,
      [id],
    );
    expect(recorded).toStrictEqual([{ accessed: true, used: true, revoked: true }]);
  });
});
