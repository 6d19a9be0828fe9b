import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { ServiceError } from '../../core/errors/errors.ts';
import { openTemporaryFile, writerTo } from './spool.ts';
import { writeTar } from './tar.ts';

it('writes an export to a temporary file, which stays open if the stream is destroyed', async () => {
  const file = await openTemporaryFile('export');
  const output = writerTo(file);
  output.cork();
  for (const text of ['one ', 'two ']) output.write(text);
  const written = new Promise((resolve) => output.write('three', resolve));
  output.uncork();
  await written;
  output.destroy();
  await once(output, 'close');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(20), 0, 20, 0);
  expect(buffer.toString('utf8', 0, bytesRead)).toBe('one two three');
  await file.close();
});

it("fails an export with the error from reading the source, not with the stream's later error", async () => {
  const left = new ServiceError('client_gone');
  const output = new PassThrough().resume();
  const written = writeTar(output, true, async (add) => {
    await add({ path: '/memories/a', kind: 'file', content: 'x'.repeat(200_000), modified: 0 });
    throw left;
  });
  await expect(written).rejects.toBe(left);
});
