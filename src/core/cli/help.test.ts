import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { type CliContext, createProgram } from '../../service/program.ts';

const allCommands = (command: Command): Command[] => [command, ...command.commands.flatMap(allCommands)];

const commands = allCommands(
  createProgram({
    version: '1.2.3',
    io: { stdout: process.stdout, stderr: process.stderr },
  } as unknown as CliContext),
);
const fullName = (command: Command): string =>
  command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;

it("ends each command's description with a full stop", () => {
  expect(commands.length).toBeGreaterThan(40);
  const without = commands.filter(
    (command) => command.parent !== null && !command.description().endsWith('.'),
  );
  expect(without.map(fullName)).toStrictEqual([]);
});

it('describes options and arguments without a final full stop', () => {
  const descriptions = commands.flatMap((command) =>
    [...command.options, ...command.registeredArguments].map(
      ({ description }) => `${fullName(command)}: ${description}`,
    ),
  );
  expect(descriptions.length).toBeGreaterThan(100);
  expect(descriptions.filter((text) => text.endsWith('.'))).toStrictEqual([]);
});

it('lists the operations that `operate` excludes in the help for --access', () => {
  const create = commands.find((command) => fullName(command) === 'memory-service keys create');
  expect(create?.options.find(({ long }) => long === '--access')?.description).toContain(
    'everything except keys, mounts, webhooks, texts kept out of all tenants, and creating, archiving, copying, renaming, or deleting tenants',
  );
});
