/**
 * Texts whose lines take long to merge.
 *
 * @module-tag long
 */
import { afterAll, expect, it } from 'vitest';
import { MergeThreads } from '../../src/core/history/line-merge.ts';
import { changesIn, Drafting } from '../support/drafting.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

/** Returns many repetitions of two lines, so that far too many lines could correspond. */
const hardText = (seed: number) =>
  Array.from({ length: 60_000 }, (_, i) => (((i * 7919 + seed * 31) >> 3) % 3 ? 'a\n' : 'b\n')).join('');
const hard = { base: hardText(1), draft: hardText(101), original: hardText(201) };

describeService(
  'a file that takes too long to merge',
  (service) => {
    const drafting = new Drafting(service);

    it('reports a conflict instead of a transaction timeout if a file takes too long to merge', async () => {
      const tenant = freshTenant('slow');
      const [a, b] = ['/memories/a', '/memories/b'];
      await run(service(), tenant, cmd.create(a, hard.base), cmd.create(b, 'x'));
      const draft = await drafting.create(tenant);
      await run(service(), draft.id, cmd.delete(a), cmd.create(a, hard.draft), cmd.replace(b, 'x', 'y'));
      await run(service(), tenant, cmd.delete(a), cmd.create(a, hard.original));
      expect(changesIn(await drafting.compare(draft))).toStrictEqual([
        `${a}: changed | changed: content`,
        `${b}: changed | -`,
      ]);
      expect(await drafting.merge(draft, { [a]: 'draft' })).toMatchObject({ draft: { state: 'merged' } });
    });
  },
  { DB_IDLE_IN_TRANSACTION_TIMEOUT_MS: '1000' },
);

const threads = new MergeThreads();
afterAll(() => threads.close());

it('merges the next files even if merging an earlier file took too long', async () => {
  const long = 'line\n'.repeat(300);
  const easy = { base: `${long}end\n`, draft: `start\n${long}end\n`, original: `${long}END\n` };
  const merged = await Promise.all([hard, easy, easy].map((texts) => threads.merge(texts)));
  expect(merged.map((regions) => regions.map(({ kind }) => kind))).toStrictEqual([
    ['conflict'],
    ['merged'],
    ['merged'],
  ]);
});
