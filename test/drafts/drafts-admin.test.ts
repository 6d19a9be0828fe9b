/**
 * Drafts in the admin API.
 *
 * @module-tag long-on-pglite
 */
import { expect, it, vi } from 'vitest';
import { problem, useAdmin } from '../support/admin.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const a = '/memories/a';
const b = '/memories/b';

interface Change {
  memory_id: string;
  path: string;
  conflict: string | null;
  base: object | null;
}

describeService('drafts in the admin API', (service) => {
  const admin = useAdmin(service);
  const make = async (...steps: object[]) => {
    const tenant = freshTenant('draft-api');
    await run(service(), tenant, ...steps);
    const { body, status } = await admin().call('POST', `/tenants/${tenant}/drafts`, {
      body: { title: 'tidy' },
    });
    expect(status).toBe(200);
    return { tenant, draft: body as Record<string, unknown> & { id: string } };
  };

  it('creates, lists, shows, and rejects a draft through the admin API', async () => {
    const { tenant, draft } = await make(cmd.create(a, '1\n'));
    expect(draft).toMatchObject({
      tenant,
      title: 'tidy',
      state: 'open',
      key_id: null,
      via_tenant: null,
      files: 1,
      bytes: 2,
      changed_files: 0,
      changed_in_both: 0,
      author: { type: 'admin_key', id: admin().key.id, label: 'control plane' },
      closed_at: null,
      closed_by: null,
      merged_at: null,
    });
    await run(service(), draft.id, cmd.create(b, '2\n'), cmd.replace(a, '1', 'one'));
    const path = `/tenants/${tenant}/drafts`;
    const list = await admin().call('GET', path);
    expect(list.body).toMatchObject({
      drafts: [{ id: draft.id, files: 2, changed_files: 2 }],
      total: 1,
      tenants: 1,
      oldest_created_at: draft.created_at,
      next: null,
    });
    await run(service(), tenant, cmd.replace(a, '1', 'uno'));
    expect((await admin().call('GET', path)).body).toMatchObject({
      drafts: [{ id: draft.id, changed_files: 2, changed_in_both: 1 }],
    });
    expect((await admin().call('GET', '/drafts?limit=1')).body).toMatchObject({ drafts: [{ id: draft.id }] });
    // Tenant lists exclude drafts.
    expect((await admin().call('GET', `/tenants?search=${draft.id}`)).body.tenants).toStrictEqual([]);
    const closed = await admin().call('POST', `${path}/${draft.id}/close`);
    expect(closed.body).toMatchObject({
      state: 'rejected',
      files: null,
      bytes: null,
      changed_files: null,
      changed_in_both: null,
      last_change_at: null,
      last_used_at: null,
      expires_at: null,
      closed_by: { type: 'admin_key', id: admin().key.id },
    });
    expect((await admin().call('GET', path)).body).toMatchObject({ drafts: [], total: 0 });
    expect((await admin().call('GET', `${path}?state=closed`)).body).toMatchObject({
      drafts: [{ id: draft.id }],
    });
    expect(problem(await admin().call('POST', `${path}/${draft.id}/close`))).toStrictEqual([
      409,
      'rejected',
      `The draft ${draft.id} is closed: it was rejected.`,
    ]);
    expect((await admin().call('GET', `/tenants/${draft.id}`)).status).toBe(404);
  });

  it("sets a draft's expiry to draft_days after its last use, and to null if draft_days is 0", async () => {
    const { tenant, draft } = await make(cmd.create(a, '1\n'));
    const DAYS_30_MS = 30 * 24 * 60 * 60 * 1000;
    expect(Date.parse(String(draft.expires_at)) - Date.parse(String(draft.last_used_at))).toBe(DAYS_30_MS);
    const read = async () => (await admin().call('GET', `/tenants/${tenant}/drafts/${draft.id}`)).body;
    await service().query(
      "UPDATE entries SET accessed_at = '2035-01-05T10:00:00Z' WHERE tenant_id = $1 AND kind = 'file' RETURNING path",
      [draft.id],
    );
    expect(await read()).toMatchObject({
      last_change_at: draft.last_change_at,
      last_used_at: '2035-01-05T10:00:00.000Z',
      expires_at: '2035-02-04T10:00:00.000Z',
    });
    await admin().call('PATCH', `/tenants/${tenant}`, { body: { settings: { draft_days: 7 } } });
    expect(await read()).toMatchObject({ expires_at: '2035-01-12T10:00:00.000Z' });
    await admin().call('PATCH', `/tenants/${tenant}`, { body: { settings: { draft_days: 0 } } });
    expect(await read()).toMatchObject({ expires_at: null });
  });

  it('lists the files that block a file, and deletes them if the file is taken from the draft', async () => {
    const { tenant, draft } = await make(cmd.create(a, '1\n'));
    const path = `/tenants/${tenant}/drafts/${draft.id}`;
    await run(service(), draft.id, cmd.create('/memories/plan', 'the plan\n'));
    const others = Array.from({ length: 101 }, (_, i) => `/memories/plan/${String(i).padStart(3, '0')}`);
    await run(service(), tenant, ...others.map((each) => cmd.create(each, 'x\n')));
    const compared = await admin().call('GET', `${path}/changes?only_conflicts=true`);
    expect(compared.body).toMatchObject({
      counts: { draft: 1, original: 101, both: 0, conflicts: 1 },
      changes: [
        {
          path: '/memories/plan',
          conflict: 'occupied',
          blocked_by: { path: '/memories/plan', file_count: 101, files: others.slice(0, 100) },
        },
      ],
    });
    const [change] = compared.body.changes as Change[];
    const { review } = compared.body;
    const merge = (resolutions: object[]) =>
      admin().call('POST', `${path}/merge`, { body: { review, resolutions } });
    expect(problem(await merge([]))).toStrictEqual([
      409,
      'rejected',
      '1 conflict is not resolved: /memories/plan (blocked by: /memories/plan/000). Nothing was changed.',
    ]);
    expect(problem(await merge([{ memory_id: change?.memory_id, text: 'mine\n' }]))).toStrictEqual([
      409,
      'rejected',
      'Cannot write the text to /memories/plan: it is blocked by /memories/plan/000. Nothing was changed. Resolve /memories/plan with `draft` or `original`.',
    ]);
    const merged = await merge([{ memory_id: change?.memory_id, take: 'draft' }]);
    expect(merged.body).toMatchObject({
      files: [
        { path: '/memories/plan', change: 'added' },
        ...others.map((each) => ({ path: each, change: 'deleted' })),
      ],
      directories_made: [],
      directories_removed: ['/memories/plan'],
    });
  });

  it('reviews and merges a draft through the admin API', async () => {
    const { tenant, draft } = await make(cmd.create(a, '1\n2\n3\n'), cmd.create(b, 'x\n'));
    const path = `/tenants/${tenant}/drafts/${draft.id}`;
    await run(service(), tenant, cmd.replace(a, '3', 'three'), cmd.replace(b, 'x', 'theirs'));
    await run(service(), draft.id, cmd.replace(a, '1', 'one'), cmd.replace(b, 'x', 'mine'));
    const compared = await admin().call('GET', `${path}/changes`);
    const changes = compared.body.changes as Change[];
    expect(compared.body).toMatchObject({
      counts: { draft: 0, original: 0, both: 2, conflicts: 1 },
      changes: [
        { path: a, changed_in: 'both', in_draft: 'changed', in_original: 'changed', conflict: null },
        { path: b, changed_in: 'both', in_draft: 'changed', in_original: 'changed', conflict: 'content' },
      ],
    });
    const only = await admin().call('GET', `${path}/changes?only_conflicts=true&limit=1`);
    expect(only.body).toMatchObject({ changes: [{ path: b }], next: null });
    const [first, second] = changes;
    expect(first).toMatchObject({
      base: { path: a, version: expect.any(String) },
      draft: { path: a, size_bytes: 8 },
      original: { path: a, size_bytes: 10 },
    });
    expect(first?.base).not.toHaveProperty('size_bytes');
    const diff = await admin().call('GET', `${path}/diff?memory_id=${first?.memory_id}`);
    expect(diff.body).toMatchObject({
      texts: { base: '1\n2\n3\n', draft: 'one\n2\n3\n', original: '1\n2\nthree\n' },
      regions: [{ kind: 'merged', text: 'one\n2\nthree\n' }],
      draft: { patch: expect.stringContaining('\n-1\n+one\n 2\n') },
      original: { patch: expect.stringContaining('\n-3\n+three\n') },
    });
    const conflict = await admin().call('GET', `${path}/diff?memory_id=${second?.memory_id}`);
    expect(conflict.body.regions).toStrictEqual([
      { kind: 'conflict', base: 'x\n', draft: 'mine\n', original: 'theirs\n' },
    ]);
    const { review } = compared.body;
    const merge = (resolutions: object[]) =>
      admin().call('POST', `${path}/merge`, { body: { review, resolutions } });
    expect(problem(await merge([]))).toStrictEqual([
      409,
      'rejected',
      `1 conflict is not resolved: ${b}. Nothing was changed.`,
    ]);
    const merged = await merge([{ memory_id: second?.memory_id, take: 'draft' }]);
    expect(merged.body).toMatchObject({
      draft: { state: 'merged' },
      files: [
        { path: a, change: 'changed' },
        { path: b, change: 'changed' },
      ],
    });
    const versions = await admin().call('GET', `/tenants/${tenant}/versions?limit=2`);
    expect(versions.body.versions).toMatchObject(
      [1, 2].map(() => ({
        created_at: merged.body.merged_at,
        draft: draft.id,
        actor: { type: 'anonymous' },
        approved_by: { type: 'admin_key', id: admin().key.id },
      })),
    );
  });

  it('compares a draft only once for all diffs in a review until the draft or the memory changes', async () => {
    const { tenant, draft } = await make(cmd.create(a, '1\n'), cmd.create(b, '2\n'));
    await run(service(), draft.id, cmd.replace(a, '1', 'one'), cmd.replace(b, '2', 'two'));
    const review = `/tenants/${tenant}/drafts/${draft.id}`;
    const transactions = vi.spyOn(service().database, 'transaction');
    // Transactions for background work, such as recording uses, read no snapshot.
    const comparisons = () => transactions.mock.calls.filter(([, options]) => options?.snapshot).length;
    const { changes } = (await admin().call('GET', `${review}/changes`)).body as { changes: Change[] };
    const readAll = async () => {
      for (const { memory_id } of changes) {
        expect((await admin().call('GET', `${review}/diff?memory_id=${memory_id}`)).status).toBe(200);
      }
      return comparisons();
    };
    expect(changes.length).toBe(2);
    expect(await readAll()).toBe(1);
    await run(service(), tenant, cmd.create('/memories/c', '3\n'));
    const before = comparisons();
    expect((await readAll()) - before).toBe(1);
    transactions.mockRestore();
    await admin().call('POST', `${review}/close`);
    expect((await admin().call('GET', `${review}/changes`)).status).toBe(409);
  });

  it('rejects a merge or replacement if a file changed after the review', async () => {
    const { tenant, draft } = await make(cmd.create(a, '1\n'), cmd.create(b, '2\n'));
    const path = `/tenants/${tenant}/drafts/${draft.id}`;
    await run(service(), draft.id, cmd.replace(a, '1', 'one'));
    const review = async () => (await admin().call('GET', `${path}/changes`)).body.review;
    const seen = await review();
    const merge = (of: unknown) => admin().call('POST', `${path}/merge`, { body: { review: of } });
    const replace = (of: unknown) => admin().call('POST', `${path}/replace`, { body: { review: of } });
    await run(service(), draft.id, cmd.replace(a, 'one', 'evil'));
    const rejected = [
      412,
      'precondition_failed',
      `Changed since the review: ${a}. Nothing was changed. Review it again.`,
    ];
    expect(problem(await merge(seen))).toStrictEqual(rejected);
    expect(problem(await replace(seen))).toStrictEqual(rejected);
    const again = await review();
    await run(service(), tenant, cmd.replace(a, '1', 'two'));
    expect(problem(await merge(again))).toStrictEqual(rejected);
    // Changes to other files do not affect a merge, but they affect a replacement of the whole memory.
    const third = await review();
    await run(
      service(),
      tenant,
      cmd.replace(b, '2', 'two'),
      cmd.replace(a, 'two', '1'),
      cmd.replace(a, '1', 'two'),
    );
    expect(problem(await replace(third))).toStrictEqual([
      412,
      'precondition_failed',
      `Changed since the review: ${a}, ${b}. Nothing was changed. Review it again.`,
    ]);
    expect(problem(await merge('1-1-f'))).toStrictEqual([
      400,
      'invalid_parameter',
      'The `review` is not valid: use the `review` of a comparison.',
    ]);
    const replaced = await replace(await review());
    expect(replaced.body).toMatchObject({ draft: { state: 'replaced' }, files: [{ path: a }, { path: b }] });
    const now = await service().execute(cmd.view(a), { tenant });
    expect(now.content).toContain('evil');
  });
});
