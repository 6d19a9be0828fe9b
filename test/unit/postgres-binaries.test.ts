import { existsSync } from 'node:fs';
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { expect, it } from 'vitest';
import { copyBinaries, embeddedPostgresFolder } from '../support/postgres/binaries.ts';

it('the copied Postgres stands alone: no link leads out of the copy', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'postgres-binaries-')));
  try {
    const copy = join(folder, 'native');
    await copyBinaries(embeddedPostgresFolder(), copy);
    const entries = await readdir(copy, { recursive: true, withFileTypes: true });
    const links = entries.filter((entry) => entry.isSymbolicLink());
    const targets = await Promise.all(links.map((link) => realpath(join(link.parentPath, link.name))));
    expect(targets.filter((target) => !target.startsWith(copy + sep))).toStrictEqual([]);
    expect(existsSync(join(copy, 'bin', 'initdb'))).toBe(true);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
