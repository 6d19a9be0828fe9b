/**
 * Writes what this version does to a database, for the tests of later ones: `npm run release:fixture`. A test fails while that of an
 * unreleased version is not what this writes.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { currentVersion, fixtureFiles, RELEASES_FOLDER } from '../test/support/releases.ts';

const folder = join(RELEASES_FOLDER, currentVersion());
rmSync(folder, { recursive: true, force: true });
for (const [file, text] of Object.entries(fixtureFiles())) {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
