/**
 * Receipts for erasures: their contents, and their verification without the service.
 *
 * @module-tag long-on-pglite
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const directory = mkdtempSync(join(tmpdir(), 'memory-service-receipts-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describeService('receipts', (service) => {
  const admin = useAdmin(service);
  const run = (...args: string[]) => runOn(service(), args);
  const file = (name: string) => join(directory, `${service().database.kind}-${name}`);
  /** Verifies a receipt with the public key, without a database. */
  const verify = async (name: string) => {
    writeFileSync(file('key.pem'), (await run('receipts', 'key')).stdout);
    const nowhere = { admin: { url: 'http://127.0.0.1:1', key: 'none' } };
    return runOn(service(), ['receipts', 'verify', file(name), '--key', file('key.pem')], nowhere);
  };

  it("writes a receipt for a tenant's deletion, and verifies the receipt without the service", async () => {
    const tenant = freshTenant();
    await service().execute(cmd.create('/memories/f', 'private text'), { tenant });
    const deleted = await run('tenants', 'delete', tenant, '--yes', '--receipt', file('deleted.json'));
    expect(deleted).toMatchObject({ code: 0, stderr: '' });
    const text = readFileSync(file('deleted.json'), 'utf8');
    expect(JSON.parse(text).receipt).toMatchObject({
      format: 'memory-service-receipt/1',
      kind: 'tenant_deleted',
      tenant,
      by: { type: 'operator' },
      erased: { entries: 2, versions: 0, directories: 0, stored_results: 0, keys: 0 },
    });
    expect(text).not.toContain('private');
    expect(text).not.toContain('/memories/f');
    const verified = await verify('deleted.json');
    expect(verified.code).toBe(0);
    expect(verified.stdout).toMatch(
      /^Valid, signed with the key [0-9a-f]{16}\.\ntenant_deleted, tenant \S+, \S+\.\n/,
    );
    expect(verified.stdout).toContain(
      'Erased: 2 entries, 0 versions, 0 directories, 0 keys, 0 stored results.\n',
    );
    expect(verified.stdout).toContain('May remain: backups, until you delete it.\n');
    writeFileSync(file('deleted.json'), text.replace('"entries": 2', '"entries": 1'));
    expect(await verify('deleted.json')).toMatchObject({
      code: 1,
      stderr:
        'memory-service: The receipt is not valid. Its signature is wrong: it was changed, or is a forgery.\n',
    });
    writeFileSync(file('deleted.json'), '{}');
    expect((await verify('deleted.json')).stderr).toContain('is not a receipt of this service');
  });

  it("keeps a deleted tenant's ID only in the receipt file if delete has --forget", async () => {
    const tenant = freshTenant('secret-customer');
    await service().execute(cmd.create('/memories/f', 'x'), { tenant });
    await service().execute(cmd.create('/memories/f/../g', 'x'), { tenant });
    await service().execute(cmd.delete('/memories/f'), { tenant });
    const log = await admin().call('GET', `/tenants/${tenant}/versions?limit=10`);
    const [version] = (log.body.versions as { id: string; operation: string }[]).filter(
      ({ operation }) => operation === 'created',
    );
    const redacted = await admin().call(
      'POST',
      `/tenants/${tenant}/versions/${version?.id}/redact?receipt=true`,
    );
    expect(redacted.body.receipt).toMatchObject({
      receipt: {
        kind: 'version_redacted',
        tenant,
        subject: { version: version?.id },
        by: { type: 'admin_key' },
      },
    });
    const before = await admin().call('GET', `/receipts?tenant=${tenant}&limit=1`);
    expect(before.body).toMatchObject({ receipts: [{}], next: null });
    await run('tenants', 'delete', tenant, '--yes', '--forget', '--receipt', file('forgotten.json'));
    const signed = JSON.parse(readFileSync(file('forgotten.json'), 'utf8'));
    expect(signed.receipt.tenant).toMatch(/^forgotten_[0-9a-f]{32}$/);
    expect(signed.proof.tenant).toBe(tenant);
    const forgotten = (await verify('forgotten.json')).stdout;
    expect(forgotten).toContain(`tenant ${tenant},`);
    expect(forgotten).toContain('Erased: 1 entry, 2 versions, 0 directories, 0 keys, 0 stored results.\n');
    const rows = await service().query(
      'SELECT t::text AS row FROM receipts AS t WHERE strpos(t::text, $1) > 0',
      [tenant],
    );
    expect(rows).toStrictEqual([]);
    const listed = await admin().call('GET', `/receipts?tenant=${signed.receipt.tenant}`);
    expect(listed.body.receipts).toMatchObject([{ receipt: signed.receipt, signature: signed.signature }]);
    const shown = await run('receipts', 'show', signed.receipt.id);
    expect(JSON.parse(shown.stdout)).toStrictEqual({
      receipt: signed.receipt,
      signature: signed.signature,
      key_id: signed.key_id,
    });
    signed.proof.tenant = 'another';
    writeFileSync(file('forgotten.json'), JSON.stringify(signed));
    expect((await verify('forgotten.json')).stderr).toContain(
      'The tenant in its proof is not the tenant of the receipt.',
    );
  });

  it('creates a receipt only on request, and returns 404 for an unknown receipt', async () => {
    const tenant = freshTenant();
    await admin().call('POST', '/tenants', { body: { id: tenant } });
    const deleted = await admin().call('DELETE', `/tenants/${tenant}`);
    expect(Object.keys(deleted.body)).toStrictEqual(['id', 'erased']);
    const id = '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52';
    const unknown = await admin().call('GET', `/receipts/${id}`);
    expect([unknown.status, unknown.body.detail]).toStrictEqual([404, `The receipt ${id} does not exist.`]);
  });
});
