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
    version: 3,
    sha256: 'b50ac44eff32f95ac8ced88a16b12efe5c27b8341775667224cb82bef410b524',
  });
});

/** drizzle-kit writes the table before the column; the shards of a distributed table have other names. */
it('names columns in the checks of a later migration without their table', () => {
  const later = readdirSync(MIGRATIONS_FOLDER).filter(
    (file) => /^\d{4}_.*\.sql$/.test(file) && file > '0009',
  );
  expect(later.length).toBeGreaterThan(0);
  for (const file of later) {
    expect([file, readFileSync(join(MIGRATIONS_FOLDER, file), 'utf8')]).toStrictEqual([
      file,
      expect.not.stringMatching(/ADD CONSTRAINT .* CHECK \(.*"\w+"\."\w+"/),
    ]);
  }
});
