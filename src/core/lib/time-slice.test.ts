import { afterAll, describe, expect, it } from 'vitest';
import { turnsDuring } from '../../../test/support/event-loop.ts';
import type { SourceEntry } from '../../features/archive/entry.ts';
import { prepareImport } from '../../features/archive/prepare-import.ts';
import { reviewFingerprint } from '../../features/drafts/compare.ts';
import { planMerge, planReplacement } from '../../features/drafts/merge-plan.ts';
import { pairFiles } from '../../features/drafts/pair-files.ts';
import { changeRecords, mergedFiles } from '../../features/drafts/records.ts';
import type { Sides, Tree } from '../../features/drafts/trees.ts';
import { MergeThreads } from '../history/line-merge.ts';
import { toFileChanges } from '../history/log.ts';
import { planTree } from '../history/restore-plan.ts';
import type { SideFile, ThreeWay } from '../history/three-way.ts';
import type { MemoryPath } from '../memory/path.ts';
import { timeSliced, timeSlicedSort } from './time-slice.ts';

const ITEMS = 20;

describe('a loop in time slices', () => {
  it("yields to the event loop between a loop's slices", async () => {
    const seen: number[] = [];
    const turns = await turnsDuring(async () => {
      for await (const item of timeSliced([1, 2, 3])) seen.push(item);
    });
    expect(seen).toStrictEqual([1, 2, 3]);
    expect(turns).toBeGreaterThanOrEqual(2);
  });

  it('sorts in time slices, stably and in the same order as Array.sort', async () => {
    const items = Array.from({ length: 9001 }, (_, i) => ({ key: (i * 7919) % 500, i }));
    const byKey = (a: { key: number }, b: { key: number }) => (a.key < b.key ? -1 : 1);
    expect(await timeSlicedSort(items, byKey)).toStrictEqual(items.toSorted((a, b) => a.key - b.key));
    const names = items.map(({ key, i }) => `${key}/${i}`);
    expect(await timeSlicedSort(names)).toStrictEqual(names.toSorted());
    expect(await timeSlicedSort([])).toStrictEqual([]);
  });
});

const path = (name: string) => `/memories/${name}` as MemoryPath;

function createTree(directory: string, version: string): Tree {
  const files = Array.from({ length: ITEMS }, (_, i): [string, SideFile] => {
    const memoryId = `memory-${i}`;
    return [
      memoryId,
      { memoryId, versionId: `${version}-${i}`, path: path(`${directory}/${i}`), sizeBytes: 1 },
    ];
  });
  return { files: new Map(files), directories: new Set([path(directory)]), hasRoot: true };
}

describe('a draft that moves many files', () => {
  const sides: Sides = {
    base: createTree('d', 'old'),
    draft: createTree('e', 'new'),
    original: createTree('d', 'old'),
    draftAt: '2026-11-25T12:00:00.000000Z',
    originalAt: '2026-11-25T12:00:00.000000Z',
  };
  const same = () => true;
  const input = (files: ThreeWay[]) => ({ sides, files, same, texts: new Map(), resolutions: new Map() });
  const planned = async () => {
    const files = await pairFiles(sides);
    const plan = await planMerge(input(files));
    return { files, plan };
  };

  it.each<[string, (given: Awaited<ReturnType<typeof planned>>) => Promise<unknown>]>([
    ['pairs the files', () => pairFiles(sides)],
    ['plans the merge', ({ files }) => planMerge(input(files))],
    ['plans the replacement', ({ files }) => planReplacement({ sides, files, same })],
    ['identifies the review', ({ files, plan }) => reviewFingerprint(sides, files, plan)],
    [
      'describes the changes',
      ({ files, plan }) =>
        changeRecords({ files, same, plan } as unknown as Parameters<typeof changeRecords>[0]),
    ],
    ['describes the merge', ({ plan }) => mergedFiles(plan.changes)],
  ])('%s of a draft with many moved files without blocking the event loop', async (_, work) => {
    const given = await planned();
    expect(given.plan.changes).toHaveLength(ITEMS);
    expect(await turnsDuring(() => work(given))).toBeGreaterThanOrEqual(ITEMS);
  });
});

it('plans a restore of many files without blocking the event loop', async () => {
  const targets = Array.from({ length: ITEMS }, (_, i) => ({
    memoryId: `memory-${i}`,
    from: { path: path(`now/${i}`), versionId: `new-${i}`, sha256: 'new', sizeBytes: 1 },
    to: { path: path(`past/${i}`), versionId: `old-${i}`, sha256: 'old', sizeBytes: 1 },
  }));
  const around = { wanted: new Set<MemoryPath>(), unwanted: new Set<MemoryPath>(), kinds: new Map() };
  expect(await turnsDuring(() => planTree(targets, around))).toBeGreaterThanOrEqual(ITEMS);
  expect(await turnsDuring(() => toFileChanges(targets))).toBeGreaterThanOrEqual(ITEMS);
});

it('checks an archive with many directories without blocking the event loop', async () => {
  async function* directories(): AsyncGenerator<SourceEntry> {
    const content = (async function* () {})();
    for (let i = 0; i < ITEMS; i++)
      yield { name: `memories/${i}/`, kind: 'dir', bytes: 0, modified: new Date(0), content };
  }
  const rules = { tenant: 'acme', maxFileBytes: 0, maxFiles: 0, maxBytes: 0 };
  const turns = await turnsDuring(async () => (await prepareImport(directories(), rules)).close());
  expect(turns).toBeGreaterThanOrEqual(ITEMS);
});

describe('many short files with equal lines', () => {
  const threads = new MergeThreads();
  afterAll(() => threads.close());

  it('merges many short files in another thread', async () => {
    const base = 'the same\n'.repeat(199);
    const texts = { base, draft: `draft\n${base}`, original: `${base}original\n` };
    const files = new Map(Array.from({ length: ITEMS }, (_, i) => [String(i), texts]));
    const merged: (string | null)[] = [];
    const turns = await turnsDuring(async () => {
      for await (const [, text] of threads.mergeAll(files)) merged.push(text);
    });
    expect(merged).toStrictEqual(Array(ITEMS).fill(`draft\n${base}original\n`));
    expect(turns).toBeGreaterThanOrEqual(ITEMS);
  });

  it('returns the merged regions from the thread without blocking the event loop', async () => {
    const side = (name: string) =>
      Array.from({ length: 20 * ITEMS }, (_, i) => (i % 2 === 0 ? `${i}\n` : `${name} ${i}\n`));
    const [base, draft, original] = [side('base'), side('draft'), side('here')];
    const merge = () =>
      threads.merge({ base: base.join(''), draft: draft.join(''), original: original.join('') });
    const regions = await merge();
    expect(regions).toStrictEqual(
      base.map((line, i) =>
        i % 2 === 0
          ? { kind: 'merged', text: line }
          : { kind: 'conflict', base: line, draft: draft[i], original: original[i] },
      ),
    );
    expect(await turnsDuring(merge)).toBeGreaterThanOrEqual(regions.length);
  });
});
