import { expect, it } from 'vitest';
import type { MemoryPath } from '../../src/core/memory/path.ts';
import type { ContextFile } from '../../src/features/context/read-files.ts';
import { composeSnapshot } from '../../src/features/context/snapshot.ts';

const file = (name: string, head: string, isPinned = false): ContextFile => ({
  path: `/memories/${name}` as MemoryPath,
  bytes: head.length,
  changedAt: '2026-11-29T10:00:00.000000Z',
  isPinned,
  head,
  isWhole: isPinned,
});
const seen = { total: 3, hasMore: false, notes: [] };

it('says that several pinned files are too long', () => {
  const files = [file('a', 'x'.repeat(2000), true), file('b', '\n'.repeat(200), true), file('c', '')];
  expect(composeSnapshot({ ...seen, files }, 1000).text).toBe(`<memory_snapshot>
Here're the files in /memories that are not shown in full, with size, path, day of the last change, and description, the latest change last:
2.0K\t/memories/a\t2026-11-29
200B\t/memories/b\t2026-11-29
0B\t/memories/c\t2026-11-29

[Truncated: 2 pinned files are too long to show here, and listed first. View them to read the content.]
</memory_snapshot>`);
});

it('says that a memory has more files than the list considers', () => {
  const files = [file('c', '# Title'), file('a', ''), file('b', '')];
  expect(composeSnapshot({ ...seen, files, hasMore: true }, 16_000).text).toBe(`<memory_snapshot>
Here're the files in /memories that are not shown in full, with size, path, day of the last change, and description, the latest change last:
0B\t/memories/a\t2026-11-29
0B\t/memories/b\t2026-11-29
7B\t/memories/c\t2026-11-29\tTitle

[Truncated: only the first 10000 files by path are considered. View a directory, or use memory_search, to find the others.]
</memory_snapshot>`);
});

it('composes the same text from files in any order', () => {
  const files = ['b', 'a', 'c'].map((name) => file(name, name, name === 'b'));
  const { text } = composeSnapshot({ ...seen, files }, 16_000);
  for (const order of [files.toReversed(), files.toSorted((one, other) => (one.path < other.path ? -1 : 1))])
    expect(composeSnapshot({ ...seen, files: order }, 16_000).text).toBe(text);
});
