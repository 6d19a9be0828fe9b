import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { functionsScript, MIGRATIONS_DIRECTORY } from '../../src/core/database/migrate.ts';
import type { AnyQuery, QueryExecutor, Value } from '../../src/core/database/query.ts';
import { writeFunctions } from '../../src/core/files/write-functions.ts';
import { batchQueries, statements } from './statements.ts';

/*
 * Release fixtures: migrations, functions, and statements for tests in which later versions run beside a release. The
 * release workflow writes them with `npm run generate -- release`.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const RELEASES_DIRECTORY = join(ROOT, 'test/fixtures/releases');
const FUNCTIONS_FILE = 'functions.sql';
const STATEMENTS_FILE = 'statements.json';

type StoredStatements = Record<string, Pick<AnyQuery, 'sql' | 'parameters'>>;

export const currentVersion = (): string =>
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;

function currentStatements(): StoredStatements {
  const sent: StoredStatements = {};
  const ofFunctions = writeFunctions.flatMap(({ single, batch }) => [single, batch]);
  const all = [...statements, ...batchQueries, ...ofFunctions];
  for (const { name, sql, parameters } of all.toSorted((a, b) => a.name.localeCompare(b.name))) {
    sent[name] = { parameters, sql };
  }
  return sent;
}

/** Returns the files in this checkout's fixture by their paths in it. */
export function fixtureFiles(): Record<string, string> {
  const files = readdirSync(MIGRATIONS_DIRECTORY, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /^(\w+|citus\/\w+)\.sql$/.test(file) || file === 'meta/_journal.json',
  );
  return {
    ...Object.fromEntries(
      files
        .sort()
        .map((file) => [`migrations/${file}`, readFileSync(join(MIGRATIONS_DIRECTORY, file), 'utf8')]),
    ),
    [FUNCTIONS_FILE]: functionsScript(),
    [STATEMENTS_FILE]: `${JSON.stringify(currentStatements(), null, 2)}\n`,
  };
}

/** Returns the files in a release's fixture by their paths in it. */
export function storedFiles(version: string): Record<string, string> {
  const directory = join(RELEASES_DIRECTORY, version);
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
  return Object.fromEntries(files.sort().map((file) => [file, readFileSync(join(directory, file), 'utf8')]));
}

export interface Release {
  version: string;
  migrations: string;
  /** Script that creates the functions. */
  functions: string;
  statements: AnyQuery[];
}

export const releasedVersions = (): string[] =>
  existsSync(RELEASES_DIRECTORY) ? readdirSync(RELEASES_DIRECTORY) : [];

/** Returns every release or, before the first one, this checkout in its place. */
export function releases(): Release[] {
  const released = releasedVersions().map((version) => {
    const directory = join(RELEASES_DIRECTORY, version);
    return {
      version,
      migrations: join(directory, 'migrations'),
      functions: readFileSync(join(directory, FUNCTIONS_FILE), 'utf8'),
      statements: readStatements(JSON.parse(readFileSync(join(directory, STATEMENTS_FILE), 'utf8'))),
    };
  });
  if (released.length > 0) return released;
  const thisCheckout = {
    version: 'this checkout (there is no release yet)',
    migrations: MIGRATIONS_DIRECTORY,
    functions: functionsScript(),
    statements: readStatements(currentStatements()),
  };
  return [thisCheckout];
}

function readStatements(stored: StoredStatements): AnyQuery[] {
  return Object.entries(stored).map(([name, statement]) => ({ name, ...statement }));
}

/** Sends a release's own statements. Throws for a parameter that is missing in `values`. */
export function releaseExecutor({ version, statements }: Release, query: QueryExecutor) {
  return async (name: string, values: Record<string, Value>): Promise<Record<string, unknown>[]> => {
    const statement = statements.find((each) => each.name === name);
    if (statement === undefined) throw new Error(`${version} has no statement ${name}.`);
    const missing = statement.parameters.filter((parameter) => values[parameter] === undefined);
    if (missing.length > 0) throw new Error(`Give ${name} of ${version} a value for ${missing.join(', ')}.`);
    // A different name, so that a connection can also prepare this version's statement.
    return (await query({ ...statement, name: `${version} ${name}` }, values)).rows;
  };
}
