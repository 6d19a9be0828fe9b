/** The audit trail can contain a million events. */
import '../../src/core/tenants/audit.ts';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PLANNER } from '../../src/core/database/database.ts';
import { definedQueries } from '../../src/core/database/query.ts';
import { genericPlan } from '../support/query-plan.ts';
import { connectTo, createTestDatabase, skipOnCitus } from '../support/test-database.ts';

describe('an audit trail page', () => {
  skipOnCitus('it has no planner settings');
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: pg.Client;

  beforeAll(async () => {
    own = await createTestDatabase();
    client = await connectTo(own.url);
    for (const [name, value] of Object.entries(PLANNER)) await client.query(`SET ${name} = '${value}'`);
  });
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  it.each([
    ['list_audit_events', 'audit_events_at', /^\(\(at .+ROW\(at, id\) </],
    [
      'list_audit_events_of_tenant',
      'audit_events_tenant',
      /^\(\(tenant_id = \$1\) AND \(at .+ROW\(at, id\) </,
    ],
  ])(
    'reads a page from an index, starting after the previous page, without a sort: %s',
    async (name, index, range) => {
      const query = definedQueries.find((each) => each.name === name);
      if (query === undefined) throw new Error(`There is no query ${name}.`);
      const plan = await genericPlan(client, query);
      expect(plan).toMatchObject({ 'Node Type': 'Limit', Plans: [{ 'Index Name': index }] });
      expect(plan.Plans?.[0]).toMatchObject({
        'Scan Direction': 'Backward',
        'Index Cond': expect.stringMatching(range),
      });
    },
  );
});
