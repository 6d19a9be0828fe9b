/** Section "Places of a change" in docs/design.md. Other tests check the places for settings and errors. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commands } from '../../src/core/memory/commands/index.ts';
import { MODES, modes } from '../../src/features/search/modes.ts';
import { adminOperations } from '../../src/service/features.ts';
import { COMMANDS, OPERATION_IDS } from '../../src/service/order.ts';
import { type CliContext, createProgram } from '../../src/service/program.ts';

const root = join(import.meta.dirname, '../..');
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const filesIn = (directory: string) =>
  readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' }).map(
    (name) => `${directory}/${name}`,
  );

it('docs/design.md names only existing files as places for a change', () => {
  const [, section = ''] = read('docs/design.md').split('\n## Places of a change\n');
  const [table = ''] = section.split('\n## ');
  const paths = [...table.matchAll(/`([\w.-]+(?:\/[\w.-]+)+)`/g)].map(([, path = '']) =>
    path.replace(/\/NAME$/, ''),
  );
  expect(paths.length).toBeGreaterThan(15);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toStrictEqual([]);
});

it('registers, documents, and types each tool command that has a file', () => {
  const shared = ['memory-command.ts', 'edit.ts', 'index.ts'];
  const files = readdirSync(join(root, 'src/core/memory/commands')).filter((name) => !shared.includes(name));
  const names = commands.map(({ name }) => name);
  expect(files.sort()).toStrictEqual(names.map((name) => `${name.replaceAll('_', '-')}.ts`).sort());
  const [contract, typescript, python] = [
    'docs/contract-commands.md',
    'clients/typescript/src/types.ts',
    'clients/python/src/memory_service_client/types.py',
  ].map(read);
  expect(names.filter((name) => !contract?.includes(`\n## ${name}\n`))).toStrictEqual([]);
  expect(names.filter((name) => !typescript?.includes(`command: '${name}';`))).toStrictEqual([]);
  expect(names.filter((name) => !python?.includes(`command: Literal["${name}"]`))).toStrictEqual([]);
});

it('describes each command field for models', () => {
  const fields = commands.map(({ name, schema, definition }) => {
    const own = Object.keys(schema.shape).filter((field) => field !== 'command' && field !== 'path');
    return { name, missing: own.filter((field) => definition.fields?.[field] === undefined) };
  });
  expect(fields.filter(({ missing }) => missing.length > 0)).toStrictEqual([]);
});

it("serves each admin API operation that a module defines, in the OpenAPI document's order", () => {
  const defined = ['src/core/admin', 'src/features']
    .flatMap(filesIn)
    .filter((file) => file.endsWith('.ts') && !file.startsWith('src/features/memory-stores/'))
    .flatMap((file) => [...read(file).matchAll(/^export const \w+ = defineOperation\(\{\n {2}id: '(\w+)'/gm)])
    .map(([, id]) => id);
  expect(defined.length).toBeGreaterThan(70);
  expect(OPERATION_IDS).toStrictEqual(adminOperations().map(({ id }) => id));
  expect(defined.filter((id = '') => !OPERATION_IDS.includes(id))).toStrictEqual([]);
});

it("lists exactly the CLI's commands, in their order", () => {
  const program = createProgram({ version: '', io: process } as unknown as CliContext);
  expect(program.commands.map((command) => command.name())).toStrictEqual(COMMANDS);
});

it('documents each search mode in docs/contract-search.md and docs/incidents.md', () => {
  const contract = read('docs/contract-search.md');
  const [, row = ''] = /^\| `mode` \| (.*) \|$/m.exec(read('docs/incidents.md')) ?? [];
  const hints = modes.map((mode) => MODES[mode].hint('{path}'));
  expect(modes.filter((mode) => !new RegExp(`^### .*\\b${mode}\\b`, 'm').test(contract))).toStrictEqual([]);
  expect(modes.filter((mode) => !row.includes(`\`${mode}\``))).toStrictEqual([]);
  expect(hints.filter((hint) => !contract.includes(hint))).toStrictEqual([]);
});
