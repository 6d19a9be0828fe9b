/**
 * Writes by operators and by agents in one process.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Admin, openAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('writes by operators', (service) => {
  let admin: Admin;
  beforeAll(async () => {
    admin = await openAdmin(service(), {}, service().app.services);
  });
  afterAll(() => admin.app.close());

  it("queues an operator's write behind other writes to the same tenant", async () => {
    const [tenant, other] = [freshTenant('queue'), freshTenant('queue')];
    for (const each of [tenant, other])
      await service().execute(cmd.create('/memories/a', 'a'), { tenant: each });
    const put = (of: string, name: string) =>
      admin.call('PUT', `/tenants/${of}/file?path=/memories/${name}`, {
        body: 'b',
        type: 'text/plain',
        headers: { 'if-none-match': '*' },
      });
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const held = service().app.services.writes.runExclusively(tenant, () => gate);
    const done: string[] = [];
    const waiting = put(tenant, 'b').then(({ status }) => {
      done.push(`operator ${status}`);
    });
    for (let i = 0; i < 5; i++) expect((await put(other, `b${i}`)).status).toBe(201);
    expect(done).toStrictEqual([]);
    open();
    await Promise.all([held, waiting]);
    expect(done).toStrictEqual(['operator 201']);
  });
});
