import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copyPgliteTemplate } from '../support/database.ts';
import { startCli } from '../support/process.ts';

it('a data folder without PG_VERSION is refused, not made anew', async () => {
  const folder = await copyPgliteTemplate();
  await rm(join(folder, 'pglite', 'PG_VERSION'));
  const cli = startCli(['tenants', 'list'], { DATA_DIR: folder });
  expect(await cli.exit).toBe(1);
  expect(cli.output()).toBe(
    `memory-service: The embedded database in ${join(folder, 'pglite')} is damaged: PG_VERSION is missing. Restore the folder from a backup, or set DATA_DIR to another folder to begin anew.`,
  );
  await expect(access(join(folder, 'pglite', 'PG_VERSION'))).rejects.toThrow();
});
