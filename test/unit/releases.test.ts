/** What later versions may change of what a release did to its databases. test/postgres/upgrade.test.ts upgrades them. */
import { expect, it } from 'vitest';
import { FUNCTIONS_VERSION } from '../../src/postgres/migrate.ts';
import { currentVersion, fixtureFiles, isReleased, releases, storedFiles } from '../support/releases.ts';

const versions = releases().map(({ version }) => version);
const current = fixtureFiles();

it('the fixture of an unreleased version is what this checkout does (update it with: npm run release:fixture)', () => {
  const version = currentVersion();
  expect(versions).toContain(version);
  if (!isReleased(version)) expect(storedFiles(version)).toStrictEqual(current);
});

it.each(versions)(
  'no migration of %s has changed: the databases that ran it would not have the change',
  (version) => {
    const stored = Object.entries(storedFiles(version)).filter(([file]) => /^migrations\/\d/.test(file));
    expect(stored.length).toBeGreaterThan(0);
    for (const [file, text] of stored) expect([file, current[file]]).toStrictEqual([file, text]);
  },
);

it.each(versions)('FUNCTIONS_VERSION is higher than that of %s if anything has changed', (version) => {
  const stored = storedFiles(version);
  const functionsVersion = Number(/IF applied < (\d+)/.exec(stored['functions.sql'] ?? '')?.[1]);
  expect(functionsVersion).toBeGreaterThan(0);
  const files = [stored, current]
    .flatMap((each) => Object.keys(each))
    .filter((file) => file.endsWith('.sql'));
  const hasChanged = files.some((file) => stored[file] !== current[file]);
  expect(FUNCTIONS_VERSION > functionsVersion).toBe(hasChanged);
});
