/**
 * Drafts: merges with changes on both sides.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { revertActor } from '../../src/core/history/revert.ts';
import { APPROVER, changesIn, Drafting } from '../support/drafting.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { lines, OPERATOR, run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const a = '/memories/a';
const b = '/memories/b';
const c = '/memories/c';

const files = async (service: Service, tenant: string) =>
  Object.fromEntries([...(await readTree(service, tenant))].filter(([path]) => path !== '/memories'));

describeService('merging a draft', (service) => {
  const drafting = new Drafting(service);
  const tenantWith = async (...steps: object[]) => {
    const tenant = freshTenant('draft');
    await run(service(), tenant, ...steps);
    return tenant;
  };

  it("keeps each side's changes if the draft and the memory changed different files", async () => {
    const tenant = await tenantWith(
      cmd.create(a, '1\n'),
      cmd.create(b, '2\n'),
      cmd.create(c, '3\n'),
      cmd.create('/memories/d/e', '4\n'),
    );
    const draft = await drafting.create(tenant);
    await run(service(), tenant, cmd.replace(c, '3', 'three'), cmd.create('/memories/new', 'new\n'));
    await run(
      service(),
      draft.id,
      cmd.replace(a, '1', 'one'),
      cmd.delete(b),
      cmd.rename('/memories/d', '/memories/f'),
      cmd.create('/memories/g/h', 'more\n'),
    );
    expect(changesIn(await drafting.compare(draft))).toStrictEqual([
      '/memories/a: changed | -',
      '/memories/b: deleted | -',
      '/memories/c: - | changed',
      '/memories/f/e: moved | -',
      '/memories/g/h: added | -',
      '/memories/new: - | added',
    ]);
    const merged = await drafting.merge(draft);
    expect(merged.draft).toMatchObject({ state: 'merged', closedBy: APPROVER, mergedAt: merged.mergedAt });
    expect(await files(service(), tenant)).toStrictEqual({
      '/memories/a': 'one\n',
      '/memories/c': 'three\n',
      '/memories/f': null,
      '/memories/f/e': '4\n',
      '/memories/g': null,
      '/memories/g/h': 'more\n',
      '/memories/new': 'new\n',
    });
    expect(await service().query('SELECT id FROM tenants WHERE id = $1', [draft.id])).toStrictEqual([]);
    await assertInvariants(service());
    // The merge is one change, which one step undoes.
    const at = merged.mergedAt ?? '';
    const undone = await revertActor(
      service().database,
      tenant,
      { by: draft.id, since: at, until: at },
      OPERATOR,
    );
    expect(lines(undone)).toStrictEqual([
      'M /memories/a',
      'A /memories/b',
      'R /memories/f/e -> /memories/d/e',
      'D /memories/g/h',
      '+ /memories/d',
      '- /memories/f',
      '- /memories/g',
    ]);
    await assertInvariants(service());
  });

  it('combines changes to different lines, and reports a conflict if both sides changed the same line', async () => {
    const text = (one: string, two: string) => `${one}\n2\n3\n4\n${two}\n`;
    const tenant = await tenantWith(cmd.create(a, text('1', '5')), cmd.create(b, 'x\n'));
    const draft = await drafting.create(tenant);
    await run(service(), tenant, cmd.replace(a, '5', 'five'), cmd.replace(b, 'x', 'theirs'));
    await run(service(), draft.id, cmd.replace(a, '1', 'one'), cmd.replace(b, 'x', 'mine'));
    expect(changesIn(await drafting.compare(draft))).toStrictEqual([
      '/memories/a: changed | changed',
      '/memories/b: changed | changed: content',
    ]);
    await expect(drafting.merge(draft)).rejects.toThrow(
      '1 conflict is not resolved: /memories/b. Nothing was changed.',
    );
    await drafting.merge(draft, { [b]: { text: 'both\n' } });
    expect(await files(service(), tenant)).toStrictEqual({ [a]: text('one', 'five'), [b]: 'both\n' });
    await assertInvariants(service());
  });
});
