import { expect, it } from 'vitest';
import { readFile } from './view-text.ts';

it('reads a file with 200,000 lines from one view', async () => {
  const file = 'line\n'.repeat(200_000);
  const numbered = file.split('\n').map((line, i) => `${String(i + 1).padStart(6)}\t${line}`);
  const content = `Here's the content of /memories/f with line numbers:\n${numbered.join('\n')}`;
  const read = await readFile(async () => ({ content, isError: false }), '/memories/f');
  expect(read.content === file).toBe(true);
});
