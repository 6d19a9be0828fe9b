/**
 * Tenant isolation, tested with random interleaved commands and every statement's plan.
 *
 * @module-tag long-on-pglite
 */
import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plannerOptions } from '../../src/core/database/pg.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { fuzzParameters } from '../support/arbitraries.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { Model } from '../support/model.ts';
import { genericPlan, nestedPlans, tableScans } from '../support/query-plan.ts';
import { functionCall, functionCalls, ofKeys, overAllTenants, statements } from '../support/statements.ts';
import { cmd } from '../support/step-table.ts';
import { connectTo, createTestDatabase, skipOnCitus } from '../support/test-database.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';

// IDs that are prefixes of each other, differ in case, sort next to each other, or contain wildcards and separators
// from SQL and from this service.
const TENANTS = [
  'a',
  'A',
  'ab',
  'a_',
  'a-',
  'a:',
  'a.',
  'a@',
  'a0',
  'aa',
  '_',
  '-',
  '.',
  'default',
  'Default',
  'default:',
];
const tenantSecret = (tenant: string) => `<secret ${TENANTS.indexOf(tenant)}>`;

const path = fc.constantFrom('/memories/f', '/memories/g', '/memories/d/f', '/memories/d/e/f', '/memories/d');
const step = fc.record({
  tenant: fc.constantFrom(...TENANTS),
  byService: fc.boolean(),
  make: fc.oneof(
    path.map((at) => () => cmd.view(at)),
    fc.constant(() => cmd.view('/memories')),
    path.map((at) => (secret: string) => cmd.create(at, `first\n${secret}\nlast`)),
    path.map((at) => (secret: string) => cmd.replace(at, secret, `${secret}!`)),
    path.map((at) => (secret: string) => cmd.insert(at, 0, secret)),
    path.map((at) => () => cmd.delete(at)),
    fc.tuple(path, path).map(
      ([from, to]) =>
        () =>
          cmd.rename(from, to),
    ),
    path.map((at) => (secret: string) => cmd.create(`${at}-${secret}`, secret)),
  ),
});

describeServiceOnOwnDatabase(
  'tenant isolation',
  (service, kind) => {
    const keys = new Map<string, string>();
    let serviceKey = '';
    let steps = 0;

    beforeAll(async () => {
      const make = async (tenant: string | null) => {
        const { key, hash, id } = newApiKey();
        await new Keys(service().database).create({
          hash,
          id,
          tenant,
          access: 'read_write',
          label: '',
          expiresAt: null,
        });
        return key;
      };
      serviceKey = await make(null);
      for (const tenant of TENANTS) {
        // Tenants from earlier versions can have IDs that no new tenant can have.
        await service().query('INSERT INTO tenants (id) VALUES ($1)', [tenant]);
        keys.set(tenant, await make(tenant));
      }
    });
    afterAll(() =>
      console.log(
        `isolation on ${kind}: ${steps} steps by ${TENANTS.length} tenants, all equal to the models`,
      ),
    );

    it('returns the same results to each tenant as if no other tenant existed', {
      tags: 'random',
    }, async () => {
      const models = new Map(TENANTS.map((tenant) => [tenant, new Model()]));
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60, size: 'max' }), async (all) => {
          await Promise.all(
            TENANTS.map(async (mine) => {
              // Tenants run in parallel, and each tenant's commands run in order.
              for (const { byService, make } of all.filter(({ tenant }) => tenant === mine)) {
                const headers: Record<string, string> = byService
                  ? { authorization: `Bearer ${serviceKey}`, 'x-tenant-id': mine }
                  : { authorization: `Bearer ${keys.get(mine)}` };
                const input = make(tenantSecret(mine));
                const answer = await service().execute(input, { headers });
                const expected = models.get(mine)?.run(input);
                expect({ mine, input, content: answer.content, is_error: answer.is_error }).toStrictEqual({
                  mine,
                  input,
                  ...expected,
                });
                steps++;
              }
            }),
          );
        }),
        fuzzParameters(kind === 'postgres' ? 60 : 20),
      );
      for (const tenant of TENANTS) {
        const tree = await readTree(service(), tenant);
        expect(tree).toEqual(models.get(tenant)?.tree);
        for (const other of TENANTS) {
          if (other !== tenant) expect(JSON.stringify([...tree])).not.toContain(tenantSecret(other));
        }
      }
      await assertInvariants(service());
    });

    it('exposes no tenant in the metrics', async () => {
      const { body } = await service().app.inject('/metrics');
      expect(body).not.toMatch(/secret|default|tenant/i);
    });

    it.each(['a%', 'а', 'a\u0301', 'a b', 'a/b', "a'", '../a', 'ａ', 'a\u200b', ''])(
      'rejects the tenant ID %j',
      async (tenant) => {
        const headers = {
          authorization: `Bearer ${serviceKey}`,
          'x-tenant-id': Buffer.from(tenant).toString('latin1'),
        };
        const { status, body } = await service().execute(cmd.view('/memories'), { headers });
        expect([status, body.code]).toStrictEqual([400, 'invalid_tenant']);
      },
    );
  },
  { AUTH: 'keys', RATE_LIMIT_PER_MINUTE: '0' },
);

const OF_ONE_TENANT = new Set(['entries', 'versions', 'past_directories']);

const OTHER_PLANS = 'the plans are those of a plain server; citus-plans.test.ts has those of Citus';

describe("the statement's plan", () => {
  skipOnCitus(OTHER_PLANS);
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: pg.Client;

  beforeAll(async () => {
    own = await createTestDatabase();
    client = await connectTo(own.url);
  });
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  it.each(statements.map((each) => [each.name, each] as const))(
    'limits each scan in the statement %s to one tenant',
    async (name, statement) => {
      const scans = [...tableScans(await genericPlan(client, statement))];
      for (const scan of scans) {
        const table = scan['Relation Name'];
        const conditions = Object.entries(scan)
          .filter(([key]) => /Cond$|Filter$/.test(key))
          .map(([, value]) => String(value))
          .join(' ');
        if (OF_ONE_TENANT.has(String(table)))
          expect([table, conditions]).toStrictEqual([table, expect.stringMatching(/\btenant_id = \(?\$1\b/)]);
        if (table === 'tenants' && !overAllTenants.has(name) && !ofKeys.has(name)) {
          expect([table, conditions]).toStrictEqual([table, expect.stringMatching(/\bid = \(?\$1\b/)]);
        }
        if (['idempotency_keys', 'tenant_usage'].includes(String(table)) && !overAllTenants.has(name)) {
          expect([table, conditions]).toStrictEqual([table, expect.stringMatching(/\btenant_id = \(?\$1\b/)]);
        }
        if (table === 'api_keys' && !ofKeys.has(name)) {
          expect([table, conditions]).toStrictEqual([table, expect.stringMatching(/\btenant_id = \(?\$1\b/)]);
        }
      }
      if (/\bentries\b/.test(statement.sql))
        expect(scans.length + (statement.sql.match(/INSERT INTO entries/g)?.length ?? 0)).toBeGreaterThan(0);
    },
  );

  it('checks more than 90 statements with unique names', async () => {
    const names = statements.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(90);
  });
});

describe("the statement's plan in a database function", () => {
  skipOnCitus(OTHER_PLANS);
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: pg.Client;

  beforeAll(async () => {
    own = await createTestDatabase();
    client = await connectTo(own.url, { options: plannerOptions });
  });
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  it.each(functionCalls)(
    'finds each row in the database function %s through an index on the tenant',
    async (call) => {
      const scans = (await nestedPlans(client, await functionCall(client, call), [])).flatMap((plan) => [
        ...tableScans(plan),
      ]);
      expect(scans.length).toBeGreaterThan(0);
      for (const scan of scans) {
        // A single row, which belongs to no tenant.
        if (scan['Relation Name'] === 'change_log_state') continue;
        const column = scan['Relation Name'] === 'tenants' ? 'id' : 'tenant_id';
        expect(scan).toMatchObject({
          'Node Type': expect.stringMatching(/^(Index|Index Only|Bitmap Heap) Scan$/),
          // In a foreign key's check, the parameter is on the left of the condition.
          [scan['Node Type'] === 'Bitmap Heap Scan' ? 'Recheck Cond' : 'Index Cond']: expect.stringMatching(
            new RegExp(`\\b${column} = |= ${column}\\b`),
          ),
        });
      }
    },
  );
});
