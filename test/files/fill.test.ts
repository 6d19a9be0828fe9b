/** Statements that fill tenants in the fault tests on Citus, which need a cluster. This test runs them without one. */
import { expect, it } from 'vitest';
import { FILL } from '../support/fill.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('the statements that fill a tenant', (service) => {
  it('creates and edits each file in the tenant with the current database functions', async () => {
    const tenant = freshTenant('filled');
    for (const fill of FILL) {
      expect(await service().query(fill, [tenant, 12])).toStrictEqual([{ done: 12 }]);
    }
    const [row] = await service().query(
      'SELECT file_count::integer AS files, byte_count::integer AS bytes FROM tenants WHERE id = $1',
      [tenant],
    );
    expect(row).toStrictEqual({ files: 12, bytes: 12 * 1696 });
  });
});
