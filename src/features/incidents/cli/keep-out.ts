import { type Command, Option } from 'commander';
import { nameOf, tenantId } from '../../../core/cli/arguments.ts';
import { type Cli, firstItems, readItems, withCaller } from '../../../core/cli/caller.ts';
import { readText } from '../../../core/cli/memory.ts';
import { printJson, printLine, printTable, time } from '../../../core/cli/output.ts';
import { actorText } from '../../../core/memory/origin.ts';
import {
  allowText,
  allowTextInAll,
  keepOut,
  keepOutOfAll,
  listKeptOutOfAll,
  listKeptOutTexts,
} from '../admin/kept-out.ts';

interface Options {
  label: string;
  json?: boolean;
}

const TENANT_HELP = 'tenant ID; without it, the texts that are kept out of all tenants';

export function registerKeepOutCommands(program: Command, { connect, io }: Cli): void {
  const keptOut = program
    .command('keep-out')
    .description('Keep texts out of memories: writes that contain them are rejected or masked.');

  keptOut
    .command('add')
    .description('Keep a text out of the memory of a tenant, or out of all memories.')
    .argument('[tenant]', TENANT_HELP, tenantId)
    .requiredOption('--from <file>', 'file with the text, or - for standard input')
    .addOption(
      new Option('--label <text>', 'the reason or the name of the incident, never the text')
        .default('')
        .argParser(nameOf(255)),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
The text is never stored: only a keyed hash is. Upper case, white space, and compatibility forms of characters do not matter.
The text is read from a file, because arguments of a command are visible to other users of the machine.

Examples:
  memory-service keep-out add acme --from card.txt --label incident-42
  printf '%s' "$TEXT" | memory-service keep-out add --from -`,
    )
    .action((tenant: string | undefined, { from, label, json }: Options & { from: string }) =>
      withCaller(connect, async (caller) => {
        const body = { text: await readText(from, io), label };
        const added = await (tenant === undefined
          ? caller.call(keepOutOfAll, { body })
          : caller.call(keepOut, { params: { tenant }, body }));
        if (json) return printJson(io.stdout, added);
        printLine(
          io.stderr,
          `Kept out of ${tenant ?? 'all tenants'} from now on. To allow the text again, remove:`,
        );
        printLine(io.stdout, added.id);
      }),
    );

  keptOut
    .command('list')
    .description('List the texts that are kept out, by ID and label. The texts are not stored.')
    .argument('[tenant]', TENANT_HELP, tenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  memory-service keep-out list\n  memory-service keep-out list acme')
    .action((tenant: string | undefined, { json }: Options) =>
      withCaller(connect, async (caller) => {
        const query = { limit: 500 };
        const entries = await firstItems(
          tenant === undefined
            ? readItems(caller, listKeptOutOfAll, { query }, (page) => page.entries)
            : readItems(caller, listKeptOutTexts, { params: { tenant }, query }, (page) => page.entries),
        );
        if (json) return printJson(io.stdout, entries);
        printTable(
          io.stdout,
          ['ID', 'TOKENS', 'CREATED', 'BY', 'LABEL'],
          entries.map(({ id, tokens, created_at: at, created_by: by, label }) => [
            id,
            tokens,
            time(at),
            actorText(by),
            label,
          ]),
        );
      }),
    );

  keptOut
    .command('remove')
    .description('Allow a text again.')
    .argument('<entry>', 'ID of the entry, from `keep-out list`')
    .argument('[tenant]', TENANT_HELP, tenantId)
    .addHelpText(
      'after',
      '\nExample:\n  memory-service keep-out remove 0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52 acme',
    )
    .action((entry: string, tenant: string | undefined) =>
      withCaller(connect, async (caller) => {
        await (tenant === undefined
          ? caller.call(allowTextInAll, { params: { entry } })
          : caller.call(allowText, { params: { tenant, entry } }));
        printLine(io.stderr, `The text of ${entry} is allowed again.`);
      }),
    );
}
