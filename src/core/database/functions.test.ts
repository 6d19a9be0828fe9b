import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MIGRATIONS_DIRECTORY } from './migrate.ts';

/** drizzle-kit qualifies columns with the table, but a distributed table's shards have other names. */
it("finds no table name before a column in the migrations' check constraints", () => {
  const migrations = readdirSync(MIGRATIONS_DIRECTORY).filter((file) => file.endsWith('.sql'));
  expect(migrations).toContain('0000_init.sql');
  for (const file of migrations) {
    expect([file, readFileSync(join(MIGRATIONS_DIRECTORY, file), 'utf8')]).toStrictEqual([
      file,
      expect.not.stringMatching(/ADD CONSTRAINT .* CHECK \(.*"\w+"\."\w+"/),
    ]);
  }
});
