/** Rules for changes after a release. test/database/upgrade.test.ts upgrades databases from each release. */
import { expect, it } from 'vitest';
import { FUNCTIONS_VERSION } from '../../src/core/database/migrate.ts';
import { fixtureFiles, releasedVersions, storedFiles } from '../support/releases.ts';

const current = fixtureFiles();

it("stores migrations, functions, and statements in a release's fixture", () => {
  expect(Object.keys(current)).toStrictEqual(
    expect.arrayContaining(['migrations/0000_init.sql', 'functions.sql', 'statements.json']),
  );
  const statements = JSON.parse(current['statements.json'] ?? '') as Record<string, { parameters: string[] }>;
  expect(statements.memory_create?.parameters[0]).toBe('tenant');
});

it("keeps a release's migrations unchanged, because databases have applied them", () => {
  for (const version of releasedVersions()) {
    const stored = Object.entries(storedFiles(version)).filter(([file]) => /^migrations\/\d/.test(file));
    expect(stored.length).toBeGreaterThan(0);
    for (const [file, text] of stored)
      expect([version, file, current[file]]).toStrictEqual([version, file, text]);
  }
});

it('FUNCTIONS_VERSION rises when migrations or functions differ from a release', () => {
  for (const version of releasedVersions()) {
    const stored = storedFiles(version);
    const functionsVersion = Number(/IF applied < (\d+)/.exec(stored['functions.sql'] ?? '')?.[1]);
    expect(functionsVersion).toBeGreaterThan(0);
    const files = [stored, current]
      .flatMap((each) => Object.keys(each))
      .filter((file) => file.endsWith('.sql'));
    const hasChanged = files.some((file) => stored[file] !== current[file]);
    expect([version, FUNCTIONS_VERSION > functionsVersion]).toStrictEqual([version, hasChanged]);
  }
});
