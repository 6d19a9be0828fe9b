/** @module-tag long-on-pglite */
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { expireFiles } from '../../src/core/files/expiry.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { assertInvariants } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { tenantWithMounts } from '../support/tenant-with-mounts.ts';
import { describeService, describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

describeService(
  'the quotas',
  (service) => {
    const run = async (tenant: string, input: object) => (await service().execute(input, { tenant })).content;

    it('reports a full memory, and accepts a file again after another file is deleted', async () => {
      const tenant = freshTenant();
      for (const n of [1, 2, 3]) {
        expect(await run(tenant, cmd.create(`/memories/f${n}`, 'x'))).toBe(
          `File created successfully at: /memories/f${n}`,
        );
      }
      expect(await run(tenant, cmd.create('/memories/dir/f4', 'x'))).toBe(
        'Error: This memory is full: it has 3 files, and 3 are allowed. Delete files to make room.',
      );
      expect(await run(tenant, cmd.view('/memories/dir'))).toBe(
        'The path /memories/dir does not exist. Please provide a valid path.',
      );
      expect(await run(tenant, cmd.create('/memories/f1', 'x'))).toBe(
        'Error: File /memories/f1 already exists',
      );
      expect(await run(tenant, cmd.create('/memories/f1/x', 'x'))).toBe(
        'Error: /memories/f1 is not a directory',
      );
      expect(await run(tenant, cmd.delete('/memories/f1'))).toBe('Successfully deleted /memories/f1');
      expect(await run(tenant, cmd.create('/memories/f4', 'x'))).toBe(
        'File created successfully at: /memories/f4',
      );
      await assertInvariants(service());
    });

    it('limits directories to the file quota in every command that creates directories', async () => {
      const tenant = freshTenant();
      const full = (used: number) =>
        `Error: This memory is full: it has ${used} directories, and 3 are allowed. Delete directories to make room.`;
      expect(await run(tenant, cmd.create('/memories/a/b/f', 'x'))).toMatch(/^File created/);
      expect(await run(tenant, cmd.create('/memories/c/d/f', 'x'))).toBe(full(2));
      expect(await run(tenant, cmd.rename('/memories/a/b/f', '/memories/c/d/f'))).toBe(full(2));
      expect(await run(tenant, cmd.create('/memories/c/f', 'x'))).toMatch(/^File created/);
      expect(await run(tenant, cmd.delete('/memories/c/f'))).toMatch(/^Successfully deleted/);
      // Empty directories count as well.
      expect(await run(tenant, cmd.create('/memories/d/f', 'x'))).toBe(full(3));
      expect(await run(tenant, cmd.delete('/memories/c'))).toMatch(/^Successfully deleted/);
      expect(await run(tenant, cmd.create('/memories/d/f', 'x'))).toMatch(/^File created/);
      await assertInvariants(service());
    });

    it('limits bytes exactly for create, str_replace, and insert', async () => {
      const tenant = freshTenant();
      expect(await run(tenant, cmd.create('/memories/big', 'x'.repeat(21)))).toBe(
        'Error: This memory is full: it has 0 bytes, 20 are allowed, and this needs 21 more. Delete or shorten files to make room.',
      );
      expect(await run(tenant, cmd.create('/memories/a', 'x'.repeat(18)))).toBe(
        'File created successfully at: /memories/a',
      );
      expect(await run(tenant, cmd.create('/memories/b', 'xxx'))).toBe(
        'Error: This memory is full: it has 18 bytes, 20 are allowed, and this needs 3 more. Delete or shorten files to make room.',
      );
      expect(await run(tenant, cmd.create('/memories/b', 'yz'))).toBe(
        'File created successfully at: /memories/b',
      );
      expect(await run(tenant, cmd.replace('/memories/b', 'z', 'éé'))).toBe(
        'Error: This memory is full: it has 20 bytes, 20 are allowed, and this needs 3 more. Delete or shorten files to make room.',
      );
      expect(await run(tenant, cmd.insert('/memories/b', 0, ''))).toBe(
        'Error: This memory is full: it has 20 bytes, 20 are allowed, and this needs 1 more. Delete or shorten files to make room.',
      );
      expect(await run(tenant, cmd.replace('/memories/b', 'z', 'w'))).toMatch(
        /^The memory file has been edited/,
      );
      expect(await run(tenant, cmd.replace('/memories/nope', 'z', 'w'))).toBe(
        'Error: The path /memories/nope does not exist. Please provide a valid path.',
      );
      await assertInvariants(service());
    });

    it('allows reads, deletes, and shorter texts if a tenant already exceeds its quotas', async () => {
      const tenant = freshTenant();
      const tenants = new Tenants(service().database);
      await tenants.create(tenant);
      await tenants.set(tenant, { maxBytes: 0, maxFiles: 5 });
      for (const n of [1, 2, 3, 4, 5])
        expect(await run(tenant, cmd.create(`/memories/f${n}`, 'x'.repeat(100)))).toMatch(/^File created/);
      expect(await run(tenant, cmd.create('/memories/f6', ''))).toBe(
        'Error: This memory is full: it has 5 files, and 5 are allowed. Delete files to make room.',
      );
      await tenants.set(tenant, { maxBytes: 10, maxFiles: 1 });
      expect(await run(tenant, cmd.view('/memories/f1'))).toMatch(/^Here's the content/);
      expect(await run(tenant, cmd.insert('/memories/f1', 0, 'x'))).toBe(
        'Error: This memory is full: it has 500 bytes, 10 are allowed, and this needs 2 more. Delete or shorten files to make room.',
      );
      expect(await run(tenant, cmd.replace('/memories/f1', 'x'.repeat(100), 'short'))).toMatch(
        /^The memory file has been edited/,
      );
      expect(await run(tenant, cmd.rename('/memories/f1', '/memories/g1'))).toMatch(/^Successfully renamed/);
      expect(await run(tenant, cmd.delete('/memories/g1'))).toMatch(/^Successfully deleted/);
      await assertInvariants(service());
    });

    it('applies the quotas exactly under simultaneous writes', async () => {
      const tenant = freshTenant();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          service().execute(cmd.create(`/memories/d${i % 3}/f${i}`, 'x'), { tenant }),
        ),
      );
      expect(answers.filter(({ is_error }) => !is_error)).toHaveLength(3);
      await assertInvariants(service());
    });
  },
  { MAX_TENANT_FILES: '3', MAX_TENANT_BYTES: '20' },
);

describeService(
  "a tenant's rate limit",
  (service) => {
    it('responds with 429 and Retry-After only to a tenant that exceeds its rate limit', async () => {
      const tenant = freshTenant();
      const answers = [];
      for (let i = 0; i < 4; i++) answers.push(await service().execute(cmd.view('/memories'), { tenant }));
      expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 200, 429]);
      expect(answers[0]?.headers).toMatchObject({ 'ratelimit-limit': '3', 'ratelimit-remaining': '2' });
      expect(answers[3]?.body).toMatchObject({
        code: 'rate_limited',
        detail: 'The tenant has used its 3 requests per minute. Retry-After says when to try again.',
      });
      expect(Number(answers[3]?.headers['retry-after'])).toBeGreaterThan(0);
      expect((await service().execute(cmd.view('/memories'), { tenant: freshTenant() })).status).toBe(200);
    });

    it("removes the service's rate limit for a tenant whose own limit is 0", async () => {
      const tenant = freshTenant();
      const tenants = new Tenants(service().database);
      await tenants.create(tenant);
      await tenants.set(tenant, { ratePerMinute: 0 });
      for (let i = 0; i < 6; i++)
        expect((await service().execute(cmd.view('/memories'), { tenant })).status).toBe(200);
    });
  },
  { RATE_LIMIT_PER_MINUTE: '3' },
);

describeService('the size limit for request bodies', (service) => {
  it("rejects a body that exceeds the tenant's own lower limit", async () => {
    const tenant = freshTenant();
    const tenants = new Tenants(service().database);
    await tenants.create(tenant);
    await tenants.set(tenant, { maxBodyBytes: 200 });
    const big = await service().execute(cmd.create('/memories/f', 'x'.repeat(300)), { tenant });
    expect([big.status, big.body.code, big.body.detail]).toStrictEqual([
      413,
      'body_too_large',
      'The body is larger than 200 bytes, the limit of this tenant.',
    ]);
    // A chunked body has no Content-Length.
    for (const [length, status] of [
      [100, 200],
      [300, 413],
      [40_000, 413],
    ] as const) {
      const body = Buffer.from(JSON.stringify(cmd.create(`/memories/${length}`, 'x'.repeat(length))));
      const chunked = await service().app.inject({
        method: 'POST',
        url: '/execute',
        headers: { 'content-type': 'application/json', 'x-tenant-id': tenant },
        payload: Readable.from([body.subarray(0, 50), body.subarray(50)]),
      });
      expect(chunked.statusCode).toBe(status);
    }
    expect((await service().execute(cmd.create('/memories/f', 'x'), { tenant })).status).toBe(200);
  });

  it("applies the service's body limit if the tenant's limit is higher, and names the limit", async () => {
    const tenant = freshTenant();
    const tenants = new Tenants(service().database);
    await tenants.create(tenant);
    await tenants.set(tenant, { maxBodyBytes: 7_000_000 });
    const big = await service().execute(cmd.create('/memories/f', 'x'.repeat(7_100_000)), { tenant });
    expect([big.status, big.body.code, big.body.detail]).toStrictEqual([
      413,
      'body_too_large',
      'The body is larger than 6356992 bytes, the limit of this service (MAX_BODY_BYTES).',
    ]);
  });
});

describeServiceOnOwnDatabase('the expiration', (service) => {
  const DAY = 86_400_000;
  const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString();
  const age = (tenant: string, path: string, accessed: number, written: number) =>
    service().query(
      `UPDATE entries SET accessed_at = $3::text::timestamptz, updated_at = $4::text::timestamptz WHERE tenant_id = $1::text AND path = $2::text`,
      [tenant, path, ago(accessed), ago(written)],
    );
  const files = async (tenant: string) =>
    (
      await service().query(
        `SELECT path FROM entries WHERE tenant_id = $1::text AND kind = 'file' ORDER BY path`,
        [tenant],
      )
    ).map(({ path }) => path);

  it('removes only files that were neither read nor written for the configured time', async () => {
    const tenants = new Tenants(service().database);
    const [kept, own] = [freshTenant(), freshTenant()];
    for (const tenant of [kept, own]) {
      for (const name of ['old', 'read', 'written', 'new']) {
        await service().execute(cmd.create(`/memories/d/${name}`, 'xyz'), { tenant });
      }
      await age(tenant, '/memories/d/old', 31, 31);
      await age(tenant, '/memories/d/read', 1, 31);
      await age(tenant, '/memories/d/written', 31, 1);
    }
    await tenants.set(own, { ttlDays: 30 });
    const dry = await expireFiles(service().database, {
      defaultTtlDays: 0,
      historyDays: 30,
      maxHistoryBytes: 0,
      dryRun: true,
    });
    expect(dry).toStrictEqual({ tenants: 1, files: 1, bytes: 3 });
    expect(await files(own)).toHaveLength(4);
    expect(
      await expireFiles(service().database, { defaultTtlDays: 0, historyDays: 30, maxHistoryBytes: 0 }),
    ).toStrictEqual({
      tenants: 1,
      files: 1,
      bytes: 3,
    });
    expect(await files(own)).toStrictEqual(['/memories/d/new', '/memories/d/read', '/memories/d/written']);
    expect(await files(kept)).toHaveLength(4);
    await assertInvariants(service());

    await tenants.set(own, { ttlDays: 0 });
    expect(
      await expireFiles(service().database, { defaultTtlDays: 30, historyDays: 30, maxHistoryBytes: 0 }),
    ).toStrictEqual({
      tenants: 1,
      files: 1,
      bytes: 3,
    });
    expect(await files(kept)).toHaveLength(3);
  });

  it('removes all expired files even if they need more than one batch', async () => {
    const tenant = freshTenant();
    await service().execute(cmd.create('/memories/first'), { tenant });
    await service().query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at, accessed_at, updated_at)
       SELECT $1::text, '/memories/f' || n, '/memories', 'file', 'x', memory_version_id(memory_id_prefix(now()), gen_random_uuid()), gen_random_uuid(), 'created', now(), now() - interval '9 days', now() - interval '9 days' FROM generate_series(1, 450) AS n`,
      [tenant],
    );
    await service().query(
      'UPDATE tenants SET file_count = 451, byte_count = 450, ttl_days = 5 WHERE id = $1::text',
      [tenant],
    );
    expect(
      await expireFiles(service().database, { defaultTtlDays: 0, historyDays: 30, maxHistoryBytes: 0 }),
    ).toStrictEqual({
      tenants: 1,
      files: 450,
      bytes: 450,
    });
    await assertInvariants(service());
  });

  it('records an access when a read or search shows text from a file, but not for a listing', async () => {
    const { own: tenant, shared } = await tenantWithMounts(service(), { shared: {} });
    for (const path of ['/memories/found', '/memories/shared/found'])
      await service().execute(cmd.create(path, 'a needle\n'), { tenant });
    await service().execute(cmd.create('/memories/needle', 'x'), { tenant });
    await service().execute(cmd.create('/memories/f', 'x'), { tenant });
    await service().execute(cmd.create('/memories/g', 'x'), { tenant });
    for (const name of ['f', 'g', 'found', 'needle']) await age(tenant, `/memories/${name}`, 31, 31);
    await age(shared, '/memories/found', 31, 31);
    await service().execute(cmd.view('/memories'), { tenant });
    await service().execute(cmd.view('/memories/f'), { tenant });
    const headers = { 'x-tenant-id': tenant };
    const searched = await service().app.inject({
      method: 'POST',
      url: '/search',
      headers,
      payload: { query: 'needle' },
    });
    expect(searched.json().matches).toHaveLength(3);
    await service().app.close();
    const rows = await service().query(
      `SELECT tenant_id AS tenant, path FROM entries
       WHERE tenant_id IN ($1::text, $2::text) AND kind = 'file' AND accessed_at > now() - interval '1 day' ORDER BY 1, 2`,
      [tenant, shared],
    );
    expect(rows).toStrictEqual([
      { tenant, path: '/memories/f' },
      { tenant, path: '/memories/found' },
      { tenant: shared, path: '/memories/found' },
    ]);
  });
});
