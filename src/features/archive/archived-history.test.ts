import { expect, it } from 'vitest';
import { ArchivedHistory } from './archived-history.ts';
import { closeAll } from './spool.ts';

it('rejects a history line before parsing it if the line is longer than any version can be', async () => {
  const policy = { isMasked: () => false, inspect: undefined, findSecret: async () => undefined };
  const history = await ArchivedHistory.open(policy, 1024);
  const entry = { name: 'history/versions/000001.ndjson', kind: 'file', modified: new Date(0) };
  const content = Buffer.alloc(6_357_000, 'x').fill('\n', 6_356_999);
  const added = history.add({ ...entry, bytes: content.length, content: [] } as never, content);
  await expect(added).rejects.toThrow(/line 1: it has 6356999 bytes; the maximum is 6356992\.$/);
  await history.close();
});

it('closes the other spools if closing one fails', async () => {
  const closed: number[] = [];
  const closing = (id: number) => ({
    close: async () => {
      if (id === 0) throw new Error('of the first');
      closed.push(id);
    },
  });
  await expect(closeAll([0, 1, 2].map(closing))).rejects.toThrow('of the first');
  expect(closed).toStrictEqual([1, 2]);
});
