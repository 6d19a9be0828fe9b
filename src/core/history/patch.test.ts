import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { hardToCompare } from '../../../test/support/hard-diff.ts';
import { ServiceError } from '../errors/errors.ts';
import type { LoadedState } from './log.ts';
import { compare, MAX_WORK, PatchThreads } from './patch.ts';

const file = (content: string): LoadedState => ({ kind: 'file', path: '/memories/a', content });

const { before, after, lines: LINES } = hardToCompare();
const [attack, plain] = [file(before), file(after)];
/** A text that is too long to compare on the event loop. */
const long = (last: string) => `${'line\n'.repeat(300)}${last}\n`;
const LARGEST_READ = (4 * 1024 * 1024) / 32;

it('replaces all lines in the patch if a comparison exceeds the work limit', { tags: 'long' }, () => {
  const { patch = '', work } = compare(attack, plain);
  expect(patch.split('\n', 4)).toStrictEqual([
    'diff --git a/memories/a b/memories/a',
    '--- a/memories/a',
    '+++ b/memories/a',
    '@@ -1,690000 +1,690000 @@',
  ]);
  expect(patch.split('\n').length).toBe(4 + 2 * LINES + 1);
  expect(work).toBeGreaterThan(MAX_WORK);
  expect(work).toBeLessThan(MAX_WORK + LARGEST_READ);
});

it('finds the edited lines in a large file with little work', () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i}`);
  const { patch, work } = compare(
    file(lines.join('\n')),
    file(lines.map((line, i) => (i % 100 === 50 ? `${line}, edited` : line)).join('\n')),
  );
  expect(patch?.match(/^@@ /gm)).toHaveLength(200);
  expect(patch).toContain('-line 50\n+line 50, edited\n');
  expect(work).toBeLessThan(MAX_WORK / 10);
});

it('stops the comparison thread when the client disconnects', { tags: 'long' }, async () => {
  const threads = new PatchThreads();
  const started = once(process, 'worker') as Promise<[Worker]>;
  const signal = new AbortController().signal;
  const small = await threads.compare(file(long('one')), file(long('two')), '', signal);
  expect(small.patch).toContain('-one\n+two\n');

  let turns = 0;
  const turn = () => {
    turns++;
    ticking = setImmediate(turn);
  };
  let ticking = setImmediate(turn);
  expect(await threads.compare(attack, plain, '', signal)).toStrictEqual(compare(attack, plain));
  clearImmediate(ticking);
  // A comparison in this thread would block the event loop, and the counter would not grow.
  expect(turns).toBeGreaterThan(10);

  const disconnect = new AbortController();
  const [thread] = await started;
  const stopped = once(thread, 'exit');
  const left = expect(threads.compare(attack, plain, '', disconnect.signal)).rejects.toThrow(
    new ServiceError('client_gone'),
  );
  // In the next turn, the thread has received the task.
  await nextTurn();
  disconnect.abort();
  await left;
  await stopped;
  await threads.close();
});
