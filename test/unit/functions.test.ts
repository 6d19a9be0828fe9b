import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FUNCTIONS_VERSION, MIGRATIONS_FOLDER } from '../../src/postgres/migrate.ts';

/** A database that is already at this version keeps its functions, so a change without a new version reaches only new databases. */
it('requires a new FUNCTIONS_VERSION when the database functions change', () => {
  const folder = join(MIGRATIONS_FOLDER, 'functions');
  const hash = createHash('sha256');
  for (const file of readdirSync(folder).sort()) hash.update(readFileSync(join(folder, file)));
  expect({ version: FUNCTIONS_VERSION, sha256: hash.digest('hex') }).toStrictEqual({
    version: 2,
    sha256: '2fe8c85d97a7b8038c5f281110a8835c283d79bd865db7f1401487dfc02d70c9',
  });
});
