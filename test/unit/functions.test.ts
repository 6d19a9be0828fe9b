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
    sha256: 'a486e8404137097d1691272300a75d2178f057d24a3a231c774c5070abb34903',
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
