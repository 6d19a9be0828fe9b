/** After an error, Postgres rejects all statements in the transaction with 25P02 and commits no data. */
import { expect, it } from 'vitest';
import { parseQuery } from '../../src/core/database/query.ts';
import { createTenantQuery } from '../../src/core/tenants/queries.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const divideByZero = parseQuery<Record<string, never>>('divide_by_zero', 'SELECT 1 / 0');

describeService('a transaction with an error', (service) => {
  it('rejects a transaction with its first error, even if later statements fail too', async () => {
    const failed = service().database.transaction(async (query) => {
      await query(divideByZero, {}).catch(() => {});
      await query(createTenantQuery, { tenant: freshTenant('aborted') });
    });
    await expect(failed).rejects.toMatchObject({ sqlState: '22012' });
  });

  it('rejects a transaction if a statement failed and its error was caught, and writes nothing', async () => {
    const tenant = freshTenant('aborted');
    const failed = service().database.transaction(async (query) => {
      await query(createTenantQuery, { tenant });
      await query(divideByZero, {}).catch(() => {});
    });
    await expect(failed).rejects.toMatchObject({ sqlState: '22012' });
    expect(await service().query('SELECT id FROM tenants WHERE id = $1', [tenant])).toStrictEqual([]);
  });
});
