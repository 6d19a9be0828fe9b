import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copyBinaries } from '../support/postgres/binaries.ts';

it('copies the Postgres binaries so that the copy works without the original', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'postgres-binaries-'));
  try {
    const [native, copy] = [join(directory, 'native'), join(directory, 'copy')];
    await mkdir(join(native, 'lib'), { recursive: true });
    await writeFile(join(native, 'lib', 'libicuuc.so.60.2'), 'a library');
    await symlink('libicuuc.so.60.2', join(native, 'lib', 'libicuuc.so.60'));
    await copyBinaries(native, copy);
    await rm(native, { recursive: true });
    expect(await readFile(join(copy, 'lib', 'libicuuc.so.60'), 'utf8')).toBe('a library');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
