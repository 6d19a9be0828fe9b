/**
 * Drafts: files and directories that block a file in the draft, and which of them are removed.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { revertActor } from '../../src/core/history/revert.ts';
import { mergedFiles } from '../../src/features/drafts/records.ts';
import { APPROVER, AUTHOR, changesIn, Drafting } from '../support/drafting.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { OPERATOR, run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const plan = '/memories/plan';
const x = '/memories/x';
const y = '/memories/y';
const z = '/memories/z';

interface Case {
  base?: object[];
  draft: object[];
  original: object[];
}

describeService('files that block a merge', (service) => {
  const drafting = new Drafting(service);
  const files = async (tenant: string) => {
    const tree = await readTree(service(), tenant);
    return Object.fromEntries([...tree].filter(([path]) => path !== '/memories'));
  };
  const start = async ({ base = [], draft: inDraft, original }: Case) => {
    const tenant = freshTenant('blocked-by');
    await run(service(), tenant, cmd.create('/memories/kept', 'kept\n'), ...base);
    const draft = await drafting.create(tenant);
    await run(service(), draft.id, ...inDraft);
    await run(service(), tenant, ...original);
    return { tenant, draft, before: await files(tenant) };
  };
  type Started = Awaited<ReturnType<typeof start>>;

  /**
   * Merges and checks that the history reports the merge and that one revert undoes it. Returns the changes to files
   * and then to directories.
   */
  const mergeAndRevert = async ({ tenant, draft, before }: Started, resolved: Record<string, 'draft'>) => {
    const merged = await drafting.merge(draft, resolved);
    const at = merged.mergedAt ?? '';
    const after = await files(tenant);
    await assertInvariants(service());
    const versions = await service().query(
      `SELECT origin FROM versions WHERE tenant_id = $1 AND created_at = $2::timestamptz
       UNION ALL SELECT origin FROM entries WHERE tenant_id = $1 AND changed_at = $2::timestamptz AND kind = 'file'`,
      [tenant, at],
    );
    expect(versions.length).toBe(merged.changes.length);
    for (const { origin } of versions)
      expect(origin).toMatchObject({ draft: draft.id, approvedBy: APPROVER, actor: expect.anything() });
    await revertActor(service().database, tenant, { by: draft.id, since: at, until: at }, OPERATOR);
    expect(await files(tenant)).toStrictEqual(before);
    await assertInvariants(service());
    const lines = (await mergedFiles(merged.changes))
      .map(({ change, path, from }) => `${change} ${from === null ? path : `${from} -> ${path}`}`)
      .sort();
    return {
      changes: [
        ...lines,
        ...merged.made.map((path) => `+ ${path}`),
        ...merged.removed.map((path) => `- ${path}`),
      ],
      after,
    };
  };

  /** Expects that a merge is rejected without any change. */
  const expectRejected = async (
    { tenant, draft, before }: Started,
    resolved: Parameters<Drafting['merge']>[1],
    message: string,
  ) => {
    await expect(drafting.merge(draft, resolved)).rejects.toThrow(message);
    expect(await files(tenant)).toStrictEqual(before);
  };

  it('deletes the files that block a merge, and their directory', async () => {
    const started = await start({
      draft: [cmd.create(plan, 'the plan\n')],
      original: [
        cmd.create(`${plan}/a.md`, 'a\n'),
        cmd.create(`${plan}/b.md`, 'b\n'),
        cmd.create(`${plan}/x/y/z.md`, 'z\n'),
      ],
    });
    expect(changesIn(await drafting.compare(started.draft))).toStrictEqual([
      '/memories/plan/a.md: - | added',
      '/memories/plan/b.md: - | added',
      '/memories/plan/x/y/z.md: - | added',
      '/memories/plan: added | -: occupied [/memories/plan/a.md /memories/plan/b.md /memories/plan/x/y/z.md]',
    ]);
    await expectRejected(
      started,
      {},
      '1 conflict is not resolved: /memories/plan (blocked by: /memories/plan/a.md). Nothing was changed.',
    );
    await expectRejected(
      started,
      { [plan]: { text: 'mine\n' } },
      'Cannot write the text to /memories/plan: it is blocked by /memories/plan/a.md. Nothing was changed. Resolve /memories/plan with `draft` or `original`.',
    );
    expect(await mergeAndRevert(started, { [plan]: 'draft' })).toStrictEqual({
      changes: [
        'added /memories/plan',
        'deleted /memories/plan/a.md',
        'deleted /memories/plan/b.md',
        'deleted /memories/plan/x/y/z.md',
        '- /memories/plan',
        '- /memories/plan/x',
        '- /memories/plan/x/y',
      ],
      after: { '/memories/kept': 'kept\n', [plan]: 'the plan\n' },
    });
  });

  it('deletes a file if the draft has a directory at the same path', async () => {
    const started = await start({
      draft: [cmd.create(`${plan}/a.md`, 'a\n'), cmd.create(`${plan}/x/y/z.md`, 'z\n')],
      original: [cmd.create(plan, 'the plan\n')],
    });
    expect(changesIn(await drafting.compare(started.draft))).toStrictEqual([
      '/memories/plan/a.md: added | -: occupied [/memories/plan]',
      '/memories/plan/x/y/z.md: added | -: occupied [/memories/plan]',
      '/memories/plan: - | added',
    ]);
    await expectRejected(
      started,
      { [`${plan}/a.md`]: 'original' },
      '1 conflict is not resolved: /memories/plan/x/y/z.md (blocked by: /memories/plan). Nothing was changed.',
    );
    // One resolution unblocks all files.
    expect(await mergeAndRevert(started, { [`${plan}/x/y/z.md`]: 'draft' })).toStrictEqual({
      changes: [
        'added /memories/plan/a.md',
        'added /memories/plan/x/y/z.md',
        'deleted /memories/plan',
        '+ /memories/plan',
        '+ /memories/plan/x',
        '+ /memories/plan/x/y',
      ],
      after: {
        '/memories/kept': 'kept\n',
        [plan]: null,
        [`${plan}/a.md`]: 'a\n',
        [`${plan}/x`]: null,
        [`${plan}/x/y`]: null,
        [`${plan}/x/y/z.md`]: 'z\n',
      },
    });
  });

  it('deletes an empty directory that blocks a merge, and its empty subdirectory', async () => {
    const started = await start({
      draft: [cmd.create(plan, 'the plan\n')],
      original: [cmd.create(`${plan}/x/y`, 'y\n'), cmd.delete(`${plan}/x/y`)],
    });
    expect(changesIn(await drafting.compare(started.draft))).toStrictEqual([
      '/memories/plan: added | -: occupied [/memories/plan/]',
    ]);
    await expectRejected(
      started,
      {},
      '1 conflict is not resolved: /memories/plan (blocked by: /memories/plan). Nothing was changed.',
    );
    expect((await mergeAndRevert(started, { [plan]: 'draft' })).changes).toStrictEqual([
      'added /memories/plan',
      '- /memories/plan',
      '- /memories/plan/x',
    ]);
  });

  it('deletes a file that blocks the path to which the draft moved another file', async () => {
    const down = await start({
      base: [cmd.create(x, 'x\n')],
      draft: [cmd.rename(x, `${plan}/deep/x`)],
      original: [cmd.create(plan, 'the plan\n')],
    });
    expect((await mergeAndRevert(down, { [`${plan}/deep/x`]: 'draft' })).changes).toStrictEqual([
      'deleted /memories/plan',
      'moved /memories/x -> /memories/plan/deep/x',
      '+ /memories/plan',
      '+ /memories/plan/deep',
    ]);
    const up = await start({
      base: [cmd.create(x, 'x\n')],
      draft: [cmd.rename(x, plan)],
      original: [cmd.create(`${plan}/a.md`, 'a\n')],
    });
    expect((await mergeAndRevert(up, { [plan]: 'draft' })).changes).toStrictEqual([
      'deleted /memories/plan/a.md',
      'moved /memories/x -> /memories/plan',
      '- /memories/plan',
    ]);
  });

  it('gives a blocking file the path and the text that it has in the draft', async () => {
    const started = await start({
      base: [cmd.create(x, 'x\n'), cmd.create(y, 'y\n'), cmd.create(`${plan}/old`, 'old\n')],
      draft: [
        // The first file leaves the directory, the second is moved there, the third is unchanged, and the fourth has
        // another text.
        cmd.rename(`${plan}/old`, '/memories/old'),
        cmd.delete(plan),
        cmd.rename('/memories/old', plan),
        cmd.replace(y, 'y', 'y of the draft'),
      ],
      original: [
        cmd.rename(x, `${plan}/x`),
        cmd.replace(`${plan}/x`, 'x', 'x of the original'),
        cmd.rename(y, `${plan}/deep/y`),
        cmd.create(`${plan}/new`, 'new\n'),
      ],
    });
    expect(changesIn(await drafting.compare(started.draft))).toStrictEqual([
      '/memories/plan/new: - | added',
      '/memories/plan: moved | -: occupied [/memories/plan/deep/y /memories/plan/new /memories/plan/x]',
      '/memories/x: - | moved',
      '/memories/y: changed | moved',
    ]);
    expect(await mergeAndRevert(started, { [plan]: 'draft' })).toStrictEqual({
      changes: [
        'deleted /memories/plan/new',
        'moved /memories/plan/deep/y -> /memories/y',
        'moved /memories/plan/old -> /memories/plan',
        'moved /memories/plan/x -> /memories/x',
        '- /memories/plan',
        '- /memories/plan/deep',
      ],
      after: {
        '/memories/kept': 'kept\n',
        [plan]: 'old\n',
        [x]: 'x\n',
        [y]: 'y of the draft\n',
      },
    });
    // A resolution other than `draft` does not unblock the file.
    const again = await start({
      base: [cmd.create(y, 'y\n')],
      draft: [cmd.create(plan, 'the plan\n'), cmd.replace(y, 'y', 'y of the draft')],
      original: [cmd.rename(y, `${plan}/deep/y`)],
    });
    await expectRejected(
      again,
      { [plan]: 'draft', [y]: 'original' },
      'Cannot take /memories/plan from the draft: it is blocked by /memories/plan/deep/y, which is resolved differently. Nothing was changed. Resolve both with `draft`, or /memories/plan with `original`.',
    );
    await drafting.merge(again.draft, { [plan]: 'draft', [y]: 'draft' });
    expect(await files(again.tenant)).toStrictEqual({
      '/memories/kept': 'kept\n',
      [plan]: 'the plan\n',
      [y]: 'y of the draft\n',
    });
  });

  it('names the blocking file both for a file with a content conflict and for a file without a conflict', async () => {
    const started = await start({
      base: [cmd.create(x, 'x\n'), cmd.create(y, '1\n2\n3\n')],
      draft: [cmd.rename(x, z), cmd.replace(z, 'x', 'draft'), cmd.replace(y, '3', 'three')],
      original: [
        cmd.replace(x, 'x', 'original'),
        cmd.create(z, 'new\n'),
        cmd.rename(y, '/memories/w'),
        cmd.create(y, 'new, too\n'),
      ],
    });
    expect(changesIn(await drafting.compare(started.draft))).toStrictEqual([
      '/memories/y: - | added',
      '/memories/y: changed | moved [/memories/y]',
      '/memories/z: - | added',
      '/memories/z: moved | changed: content [/memories/z]',
    ]);
    expect(await mergeAndRevert(started, { [z]: 'draft', [y]: 'draft' })).toStrictEqual({
      changes: [
        'deleted /memories/y',
        'deleted /memories/z',
        'moved /memories/w -> /memories/y',
        'moved /memories/x -> /memories/z',
      ],
      after: { '/memories/kept': 'kept\n', [z]: 'draft\n', [y]: '1\n2\nthree\n' },
    });
  });

  it('rejects a merge if a blocking file cannot move because another file is at its path in the draft', async () => {
    // `x` would unblock the draft's `plan`, but the draft now has a new file at the path of `x`.
    const chain = await start({
      base: [cmd.create(x, 'x\n')],
      draft: [cmd.create(plan, 'the plan\n')],
      original: [cmd.rename(x, plan), cmd.create(x, 'new\n')],
    });
    expect(changesIn(await drafting.compare(chain.draft))).toStrictEqual([
      '/memories/plan: added | -: occupied [/memories/plan]',
      '/memories/x: - | added',
      '/memories/x: - | moved',
    ]);
    await expectRejected(
      chain,
      { [plan]: 'draft' },
      'Cannot take /memories/plan from the draft: it is blocked by /memories/plan, which cannot move to /memories/x, its path in the draft, which is occupied as well. Nothing was changed. Resolve /memories/plan with `original`, or make room for it first.',
    );
    await run(service(), chain.tenant, cmd.rename(x, y));
    await drafting.merge(chain.draft, { [plan]: 'draft' });
    expect(await files(chain.tenant)).toStrictEqual({
      '/memories/kept': 'kept\n',
      [plan]: 'the plan\n',
      [x]: 'x\n',
      [y]: 'new\n',
    });

    // `x` blocks `y` because of `z`, so both need a resolution.
    const through = await start({
      base: [cmd.create(x, 'x\n'), cmd.create(y, 'y\n')],
      draft: [cmd.rename(x, z), cmd.rename(y, x)],
      original: [cmd.create(z, 'new\n')],
    });
    expect(changesIn(await drafting.compare(through.draft))).toStrictEqual([
      '/memories/x: moved | -: occupied [/memories/x]',
      '/memories/z: - | added',
      '/memories/z: moved | -: occupied [/memories/z]',
    ]);
    await expectRejected(
      through,
      { [x]: 'draft' },
      '1 conflict is not resolved: /memories/z (blocked by: /memories/z). Nothing was changed.',
    );
    await expectRejected(
      through,
      { [x]: 'draft', [z]: 'original' },
      'Cannot take /memories/x from the draft: it is blocked by /memories/x, which is resolved differently. Nothing was changed. Resolve both with `draft`, or /memories/x with `original`.',
    );
    expect((await mergeAndRevert(through, { [x]: 'draft', [z]: 'draft' })).changes).toStrictEqual([
      'deleted /memories/z',
      'moved /memories/x -> /memories/z',
      'moved /memories/y -> /memories/x',
    ]);
  });

  it("keeps the memory's file at a path where the draft deleted a directory", async () => {
    const { draft, tenant } = await start({
      base: [cmd.create(`${plan}/a.md`, 'a\n'), cmd.create(x, 'x\n')],
      draft: [cmd.delete(plan), cmd.replace(x, 'x', 'y')],
      original: [cmd.delete(plan), cmd.create(plan, 'a file now\n')],
    });
    const merged = await drafting.merge(draft);
    expect({ changes: await mergedFiles(merged.changes), removed: merged.removed }).toMatchObject({
      changes: [{ path: x, change: 'changed' }],
      removed: [],
    });
    expect(await files(tenant)).toStrictEqual({
      '/memories/kept': 'kept\n',
      [plan]: 'a file now\n',
      [x]: 'y\n',
    });
    await assertInvariants(service());
  });

  it('rejects a merge if a blocking file was added or changed after the review', async () => {
    const { draft, tenant } = await start({
      draft: [cmd.create(plan, 'the plan\n')],
      original: [cmd.create(`${plan}/a.md`, 'a\n')],
    });
    const { review } = await drafting.compare(draft);
    await run(service(), tenant, cmd.create(`${plan}/b.md`, 'nobody saw this\n'));
    await expect(drafting.merge(draft, { [plan]: 'draft' }, { review })).rejects.toThrow(
      'Changed since the review: /memories/plan/b.md. Nothing was changed. Review it again.',
    );
    const again = await drafting.compare(draft);
    await run(service(), tenant, cmd.replace(`${plan}/a.md`, 'a', 'changed'));
    await expect(drafting.merge(draft, { [plan]: 'draft' }, { review: again.review })).rejects.toThrow(
      'Changed since the review: /memories/plan/a.md. Nothing was changed. Review it again.',
    );
    await drafting.merge(draft, { [plan]: 'draft' });
    expect(await files(tenant)).toStrictEqual({ '/memories/kept': 'kept\n', [plan]: 'the plan\n' });
  });

  it("records the draft's author as the actor who deleted a blocking file", async () => {
    const { draft, tenant } = await start({
      draft: [cmd.create(plan, 'the plan\n')],
      original: [cmd.create(`${plan}/a.md`, 'a\n')],
    });
    await drafting.merge(draft, { [plan]: 'draft' });
    const deleted = await service().query(
      "SELECT path, origin FROM versions WHERE tenant_id = $1 AND operation = 'deleted'",
      [tenant],
    );
    expect(deleted).toStrictEqual([
      { path: `${plan}/a.md`, origin: { actor: AUTHOR, draft: draft.id, approvedBy: APPROVER } },
    ]);
  });
});
