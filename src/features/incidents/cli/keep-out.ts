import { Option } from 'commander';
import { createNameParser, tenantId } from '../../../core/cli/arguments.ts';
import { readList } from '../../../core/cli/caller.ts';
import { type Cli, command, group } from '../../../core/cli/cli-command.ts';
import { readText } from '../../../core/cli/memory-commands.ts';
import { printLine, table, time } from '../../../core/cli/output.ts';
import { actorText } from '../../../core/memory/origin.ts';
import {
  allowText,
  allowTextInAll,
  keepOut,
  keepOutOfAll,
  listKeptOutOfAll,
  listKeptOutTexts,
} from '../admin/kept-out-operations.ts';

const TENANT_HELP = 'tenant ID; without it, the texts that are kept out of all tenants';

const addCommand = (cli: Cli) =>
  command(cli, 'add', 'Keep a text out of the memory of a tenant, or out of all memories.')
    .argument('[tenant]', TENANT_HELP, tenantId)
    .requiredOption('--from <file>', 'file with the text, or - for standard input')
    .addOption(
      new Option('--label <text>', 'the reason or the name of the incident, never the text')
        .default('')
        .argParser(createNameParser(255)),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
The text is never stored: only a keyed hash is. Upper case, white space, and compatibility forms of characters do not matter.
The text is read from a file, because arguments of a command are visible to other users of the machine.`,
    )
    .examples(
      'memory-service keep-out add acme --from card.txt --label incident-42',
      'printf \'%s\' "$TEXT" | memory-service keep-out add --from -',
    )
    .run(
      async (
        { caller, io },
        tenant: string | undefined,
        { from, label }: { from: string; label: string },
      ) => {
        const body = { text: await readText(from, io), label };
        const added = await (tenant === undefined
          ? caller.call(keepOutOfAll, { body })
          : caller.call(keepOut, { params: { tenant }, body }));
        const place = tenant ?? 'all tenants';
        const note = `Kept out of ${place} from now on. To allow the text again, remove:`;
        return { json: added, note, text: added.id };
      },
    );

const listCommand = (cli: Cli) =>
  command(cli, 'list', 'List the texts that are kept out, by ID and label. The texts are not stored.')
    .argument('[tenant]', TENANT_HELP, tenantId)
    .option('--json', 'print JSON')
    .examples('memory-service keep-out list', 'memory-service keep-out list acme')
    .run(async ({ caller }, tenant: string | undefined) => {
      const query = { limit: 500 };
      const entries = await (tenant === undefined
        ? readList(caller, listKeptOutOfAll, { query }, (page) => page.entries)
        : readList(caller, listKeptOutTexts, { params: { tenant }, query }, (page) => page.entries));
      const text = table(entries, {
        ID: (entry) => entry.id,
        TOKENS: (entry) => entry.tokens,
        CREATED: (entry) => time(entry.created_at),
        BY: (entry) => actorText(entry.created_by),
        LABEL: (entry) => entry.label,
      });
      return { json: entries, text };
    });

const removeCommand = (cli: Cli) =>
  command(cli, 'remove', 'Allow a text again.')
    .argument('<entry>', 'ID of the entry, from `keep-out list`')
    .argument('[tenant]', TENANT_HELP, tenantId)
    .examples('memory-service keep-out remove 0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52 acme')
    .run(async ({ caller, io }, entry: string, tenant: string | undefined) => {
      await (tenant === undefined
        ? caller.call(allowTextInAll, { params: { entry } })
        : caller.call(allowText, { params: { tenant, entry } }));
      printLine(io.stderr, `The text of ${entry} is allowed again.`);
    });

export const keepOutCommands = group(
  'keep-out',
  'Keep texts out of memories: writes that contain them are rejected or masked.',
  [addCommand, listCommand, removeCommand],
);
