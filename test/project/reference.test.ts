/** The generated pages of docs are up to date. After a change, run `npm run generate`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commandReference, errorReference } from '../../scripts/reference.ts';
import { ERROR_CATALOG, type ErrorDefinition } from '../../src/errors/catalog.ts';

const read = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');

it('docs/cli.md lists the commands of the program', () => {
  const reference = commandReference();
  expect(reference).toContain('\n## tenants create\n');
  expect(read('docs/cli.md')).toBe(reference);
});

it('docs/errors.md lists the error codes of both APIs', () => {
  const reference = errorReference([read('openapi.yaml'), read('admin-openapi.yaml')]);
  const codes = Object.entries<ErrorDefinition<never[]>>(ERROR_CATALOG).map(
    ([reason, { code = reason }]) => code,
  );
  // Only the log has the code of a client that left.
  const responses = codes.filter((code) => code !== 'client_gone');
  expect(responses.filter((code) => !reference.includes(`\n| \`${code}\` | `))).toStrictEqual([]);
  expect(reference).toMatch(/^\| `too_many_at_once` \| 429 \| \S/m);
  expect(read('docs/errors.md')).toBe(reference);
});
