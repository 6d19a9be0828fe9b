/** Errors in single calls in a `tool_use` block array: each call has its own outcome. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { readTree } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { isCitus } from '../support/test-database.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

const AFTER_FAULT =
  'Error: This call was not run because the service failed at an earlier call of this request. Send it again.';
const CREATED = (name: string) => `File created successfully at: /memories/${name}`;

const block = (id: string, input: object) => ({ type: 'tool_use', id, name: 'memory', input });
const create = (name: string) => block(name, cmd.create(`/memories/${name}`, name));

// Distributed tables have no triggers.
describe.skipIf(isCitus())('an array in which a call fails with an error', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService('postgres', { AUTO_CREATE_TENANTS: 'false' });
    // Each row names a file and how its creation fails: an SQLSTATE or the tenant's deletion.
    await service.query(`
      CREATE TABLE faults (path text, code text);
      CREATE FUNCTION raise_fault() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE code text;
      BEGIN
        FOR code IN SELECT f.code FROM faults AS f WHERE f.path = NEW.path LOOP
          IF code <> 'gone' THEN RAISE EXCEPTION 'injected' USING ERRCODE = code; END IF;
          DELETE FROM entries WHERE tenant_id = NEW.tenant_id;
          DELETE FROM tenants WHERE id = NEW.tenant_id;
        END LOOP;
        RETURN NULL;
      END $$;
      CREATE TRIGGER raise_fault AFTER INSERT ON entries FOR EACH ROW EXECUTE FUNCTION raise_fault()`);
  });
  afterAll(() => service.close());

  /** Sends the calls while one file's creation fails. */
  async function send(fault: { path: string; code: string }, tenant: string, calls: object[]) {
    await service.query('INSERT INTO faults VALUES ($1, $2)', [fault.path, fault.code]);
    try {
      return await service.execute(calls, { tenant });
    } finally {
      await service.query('DELETE FROM faults');
    }
  }
  const results = (body: unknown) =>
    (body as { tool_use_id: string; content: string; is_error: boolean }[]).map(
      ({ tool_use_id: id, content, is_error: isError }) => [id, content, isError],
    );
  const files = async (tenant: string) =>
    [...(await readTree(service, tenant))].flatMap(([path, text]) => (text === null ? [] : [path])).sort();

  async function newTenant() {
    const tenant = freshTenant('array');
    await new Tenants(service.database).create(tenant);
    return tenant;
  }

  it.each([
    [
      'the database is not available',
      '53100',
      'Error: This call may have been run: The database is not available. Try again shortly.',
    ],
    [
      'the database is busy',
      '55P03',
      'Error: This call was not run: The database is busy. Try again shortly.',
    ],
    [
      'the statement is wrong',
      '22012',
      'Error: This call was not run: The service failed to handle the request.',
    ],
  ])(
    "returns each call's outcome if %s, and runs the remaining calls in a retry",
    async (_, code, failed) => {
      const tenant = await newTenant();
      const calls = [create('a'), block('view', cmd.view('/memories/a')), create('b'), create('c')];
      const viewed = ['view', "Here's the content of /memories/a with line numbers:\n     1\ta", false];
      const { status, body } = await send({ path: '/memories/b', code }, tenant, calls);
      expect(status).toBe(200);
      expect(results(body)).toStrictEqual([
        ['a', CREATED('a'), false],
        viewed,
        ['b', failed, true],
        ['c', AFTER_FAULT, true],
      ]);
      expect(await files(tenant)).toStrictEqual(['/memories/a']);

      const again = await service.execute(calls, { tenant });
      expect(results(again.body)).toStrictEqual([
        ['a', CREATED('a'), false],
        viewed,
        ['b', CREATED('b'), false],
        ['c', CREATED('c'), false],
      ]);
      expect(await files(tenant)).toStrictEqual(['/memories/a', '/memories/b', '/memories/c']);
    },
  );

  it('rejects the whole array if the first call fails before any write', async () => {
    const tenant = await newTenant();
    const failed = await send({ path: '/memories/a', code: '55P03' }, tenant, [create('a'), create('b')]);
    expect([failed.status, failed.body.code, failed.headers['retry-after']]).toStrictEqual([
      503,
      'database_busy',
      '1',
    ]);
    expect(await files(tenant)).toStrictEqual([]);
  });

  it("returns each call's outcome if the tenant is deleted while the array runs", async () => {
    const tenant = await newTenant();
    const calls = [create('a'), create('b'), create('c'), block('view', cmd.view('/memories/a'))];
    const { status, body } = await send({ path: '/memories/b', code: 'gone' }, tenant, calls);
    expect(status).toBe(200);
    const rejected = `Error: This call was not run: Tenant ${tenant} does not exist. An operator must create it first.`;
    expect(results(body)).toStrictEqual([
      ['a', CREATED('a'), false],
      ['b', CREATED('b'), false],
      ['c', rejected, true],
      ['view', rejected, true],
    ]);
  });
});
