/**
 * `npm run generate` writes all generated files: both OpenAPI documents, the console's types, references in docs,
 * .env.example, the tool definitions for MCP and the clients, and the migration for changes to
 * `src/core/database/schema`. A test fails while one of these files is outdated.
 *
 * `npm run generate -- release`: writes the fixture for the version in package.json, with its migrations, functions,
 * and statements, for later versions' tests. The release workflow runs it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CONSOLE_TYPES, consoleTypes, DOCUMENTS, openApiYaml } from '../test/support/openapi-build.ts';
import { currentVersion, fixtureFiles, RELEASES_DIRECTORY } from '../test/support/releases.ts';
import { commandReference, errorReference } from './reference.ts';
import { envExample, settingsPage } from './settings-reference.ts';
import { TOOL_DEFINITIONS } from './tool-definitions.ts';

const root = join(import.meta.dirname, '..');

const [what] = process.argv.slice(2);
if (what === 'release') writeFixture();
else if (what === undefined) await writeAll();
else throw new Error(`Unknown argument ${what}. Use no argument, or release.`);

async function writeAll(): Promise<void> {
  execFileSync('npx', ['drizzle-kit', 'generate'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const [name, build] of Object.entries(DOCUMENTS))
    writeFileSync(join(root, name), await openApiYaml(build));
  writeFileSync(join(root, CONSOLE_TYPES), await consoleTypes());
  writeFileSync(join(root, 'docs/cli.md'), commandReference());
  writeFileSync(join(root, 'docs/errors.md'), errorReference());
  const settings = join(root, 'docs/settings.md');
  writeFileSync(settings, settingsPage(readFileSync(settings, 'utf8')));
  writeFileSync(join(root, '.env.example'), envExample());
  const definitions = Object.entries(TOOL_DEFINITIONS);
  for (const [name, text] of definitions) writeFileSync(join(root, name), text());
  execFileSync('npx', ['biome', 'format', '--write', ...definitions.map(([name]) => name)], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

function writeFixture(): void {
  const directory = join(RELEASES_DIRECTORY, currentVersion());
  rmSync(directory, { recursive: true, force: true });
  for (const [file, text] of Object.entries(fixtureFiles())) {
    const path = join(directory, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
