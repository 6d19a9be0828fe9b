/**
 * Drafts from a past time, their quotas, their end, and their dependence on the tenant.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { moveTenantData } from '../../src/core/tenants/copy.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { expireDrafts } from '../../src/features/drafts/close.ts';
import { createDraft } from '../../src/features/drafts/create-draft.ts';
import { findDraft, openDrafts } from '../../src/features/drafts/drafts.ts';
import { AUTHOR, changesIn, Drafting } from '../support/drafting.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { readSnapshot, run } from '../support/restore-run.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

const a = '/memories/a';
const b = '/memories/d/b';
const DAY_MS = 24 * 60 * 60 * 1000;

describeServiceOnOwnDatabase("a draft's lifecycle", (service) => {
  const drafting = new Drafting(service);
  const tenantWith = async (...steps: object[]) => {
    const tenant = freshTenant('draft-life');
    await run(service(), tenant, ...steps);
    return tenant;
  };
  const countOpen = async (tenant: string) => (await openDrafts(service().database.query, tenant)).count;

  it("creates a draft from the memory's state at a past time", async () => {
    const tenant = await tenantWith(cmd.create(a, '1\n'), cmd.create(b, '2\n'));
    const then = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.replace(a, '1', 'one'), cmd.delete('/memories/d'));
    const draft = await drafting.create(tenant, { at: then.at });
    expect(await readTree(service(), draft.id)).toStrictEqual(new Map([...then.tree].sort()));
    expect(changesIn(await drafting.compare(draft))).toStrictEqual([
      `${a}: - | changed`,
      `${b}: - | deleted`,
    ]);
    await run(service(), draft.id, cmd.insert(a, 1, 'more\n'));
    expect(changesIn(await drafting.compare(draft))).toStrictEqual([
      `${a}: changed | changed: content`,
      `${b}: - | deleted`,
    ]);
    // A replacement restores files as well.
    await drafting.replace(draft);
    expect(await readTree(service(), tenant)).toStrictEqual(
      new Map([...then.tree].map(([path, text]) => [path, path === a ? '1\nmore\n' : text])),
    );
    await assertInvariants(service());
  });

  it('creates a draft from the current memory if the requested time is in the future', async () => {
    const tenant = await tenantWith(cmd.create(a, '1\n'));
    const draft = await drafting.create(tenant, { at: '2999-01-01T00:00:00.000000Z' });
    await run(service(), draft.id, cmd.create(b, '2\n'));
    const { draftAt, originalAt } = (await drafting.compare(draft)).sides;
    expect(draft.baseAt).toBe(originalAt);
    expect(Date.parse(draftAt)).toBeLessThan(Date.parse('2999-01-01T00:00:00Z'));
    await drafting.merge(draft);
    await assertInvariants(service());
  });

  it("suspends a tenant's drafts with the tenant, even a draft created during the suspension", async () => {
    const tenant = await tenantWith(cmd.create(a, '1\n'));
    const tenants = new Tenants(service().database);
    const before = await drafting.create(tenant);
    await tenants.suspend(tenant, true);
    const meanwhile = await drafting.create(tenant);
    const readBoth = async () => {
      const statuses = [];
      for (const { id } of [before, meanwhile])
        statuses.push((await service().execute(cmd.view(a), { tenant: id })).status);
      return statuses;
    };
    expect(await readBoth()).toStrictEqual([403, 403]);
    await tenants.suspend(tenant, false);
    const row = async (id: string) => (await tenants.find(id))?.suspendedAt;
    expect([await row(before.id), await row(meanwhile.id)]).toStrictEqual([null, null]);
    await drafting.merge(before);
  });

  it("counts a draft against its tenant's quotas", async () => {
    const tenant = await tenantWith(cmd.create(a, 'x'.repeat(100)));
    const tenants = new Tenants(service().database);
    await tenants.set(tenant, { maxDrafts: 1, maxDraftBytes: 150 });
    const draft = await drafting.create(tenant);
    await expect(drafting.create(tenant)).rejects.toThrow(
      `Tenant ${tenant} already has 1 open draft, its maximum. Merge or close one first.`,
    );
    await tenants.set(tenant, { maxDrafts: 2 });
    await expect(drafting.create(tenant)).rejects.toThrow(
      `The open drafts of tenant ${tenant} use 100 of 150 bytes, and this one needs 100 more.`,
    );
    // The draft cannot exceed the remaining quota.
    const grown = await service().execute(cmd.create('/memories/c', 'x'.repeat(60)), { tenant: draft.id });
    expect(grown.content).toContain('This memory is full');
    await expect(
      createDraft(service().database, drafting.config, draft.id, { title: 't', author: AUTHOR }),
    ).rejects.toThrow(`${draft.id} is a draft itself, and a draft has no drafts.`);
    expect(await countOpen(tenant)).toBe(1);
    await assertInvariants(service());
  });

  it('closes expired drafts, and deletes data that killed processes left from closed drafts', async () => {
    const daysFromNow = (days: number) => new Date(Date.now() + days * DAY_MS);
    // Closes the drafts from other tests.
    await expireDrafts(service().database, { DRAFT_DAYS: 30 }, daysFromNow(31));
    const tenant = await tenantWith(cmd.create(a, 'x'));
    const other = await tenantWith(cmd.create(a, 'x'));
    await new Tenants(service().database).set(other, { draftDays: 0 });
    const [used, unused, kept] = [
      await drafting.create(tenant),
      await drafting.create(tenant),
      await drafting.create(other),
    ];
    expect(await expireDrafts(service().database, { DRAFT_DAYS: 30 }, daysFromNow(29))).toStrictEqual({
      expired: 0,
      rejected: 0,
      deleted: 0,
    });
    await service().query(
      "UPDATE tenants SET last_change_at = now() + interval '10 days' WHERE id = $1 RETURNING id",
      [used.id],
    );
    expect(await expireDrafts(service().database, { DRAFT_DAYS: 30 }, daysFromNow(31))).toStrictEqual({
      expired: 1,
      rejected: 0,
      deleted: 0,
    });
    const state = async ({ tenant: of, id }: { tenant: string; id: string }) =>
      (await findDraft(service().database.query, of, id)).state;
    expect([await state(used), await state(unused), await state(kept)]).toStrictEqual([
      'open',
      'expired',
      'open',
    ]);
    // Simulates processes that were killed before counting and before deleting a draft.
    await service().query('DELETE FROM drafts WHERE id = $1 RETURNING id', [kept.id]);
    await service().query("UPDATE drafts SET state = 'merged' WHERE id = $1 RETURNING id", [used.id]);
    expect(await expireDrafts(service().database, { DRAFT_DAYS: 30 }, daysFromNow(1))).toStrictEqual({
      expired: 0,
      rejected: 0,
      deleted: 2,
    });
    await assertInvariants(service());
  });

  it('rejects deleting a draft as a tenant, and deletes a draft when its own tenant is deleted', async () => {
    const tenant = await tenantWith(cmd.create(a, 'x'));
    const draft = await drafting.create(tenant);
    const tenants = new Tenants(service().database);
    await expect(tenants.delete(draft.id)).rejects.toThrow(
      `${draft.id} is a draft of tenant ${tenant}. Merge it or close it instead.`,
    );
    await run(service(), draft.id, cmd.create(b, 'y'));
    const renamed = `${tenant}-renamed`;
    await moveTenantData(service().database, tenant, renamed);
    await drafting.merge({ ...draft, tenant: renamed });
    expect((await readTree(service(), renamed)).get(b)).toBe('y');
    const last = await drafting.create(renamed);
    await tenants.delete(renamed);
    const left = await service().query('SELECT id FROM tenants WHERE id = ANY ($1::text[])', [
      [renamed, last.id],
    ]);
    expect(left).toStrictEqual([]);
    expect(await service().query('SELECT id FROM drafts WHERE tenant_id = $1', [renamed])).toStrictEqual([]);
    await assertInvariants(service());
  });

  it('rejects a merge that exceeds a file limit set after the draft was written', async () => {
    const tenant = await tenantWith(cmd.create(a, 'x'));
    const draft = await drafting.create(tenant);
    await run(service(), draft.id, cmd.create('/memories/b', 'y'), cmd.create('/memories/c', 'z'));
    await new Tenants(service().database).set(tenant, { maxFiles: 2 });
    await expect(drafting.merge(draft)).rejects.toThrow(
      `Tenant ${tenant} uses 1 of 2 files, and the merge needs 2 more.`,
    );
    await new Tenants(service().database).set(tenant, { maxFiles: 3, historyDays: 0 });
    await drafting.merge(draft);
    await assertInvariants(service());
  });

  it('explains the error if log names an unknown source or revert names no actor', async () => {
    const tenant = await tenantWith(cmd.create(a, 'x'));
    const none = await runCli(service(), ['log', tenant, '--source', 'web']);
    expect(none.error).toBe(
      `The source "web" has made no changes in ${tenant}. See who has: memory-service log ${tenant}`,
    );
    const both = await runCli(service(), ['revert', tenant, '--since', '1h']);
    expect(both.error).toContain('requires --by <actor>, --source <source>, or --until <time>');
  });
});
