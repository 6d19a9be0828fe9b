import { InvalidArgumentError, Option } from 'commander';
import { memoryPath, TIME_HELP, tenantId, timeArgument } from '../../../core/cli/arguments.ts';
import { type Cli, type CliCommand, command } from '../../../core/cli/cli-command.ts';
import { sanitizeForTerminal } from '../../../core/cli/output.ts';
import { type MemoryPath, ROOT } from '../../../core/memory/path.ts';
import { describeMatching, hintAfterNoMatch } from '../matching.ts';
import { DEFAULT_MODE, describeOption, type Mode, modes } from '../modes.ts';
import { searchFiles } from '../search-operations.ts';
import { DEFAULT_RESULTS, MAX_RESULTS } from '../search-query.ts';

interface SearchOptions {
  all?: boolean;
  mode: Mode;
  path: MemoryPath;
  limit: number;
  at?: string;
  json?: boolean;
}

export const searchCommand = (cli: Cli) =>
  command(cli, 'search', 'Find files by words, a literal text, or a regular expression.')
    .argument('<tenant>', 'tenant ID; with --all, the text or pattern to search for')
    .argument('[query]', 'text or pattern to search for')
    .option('--all', 'search the current files of all tenants, like `find --all --place current`')
    .addOption(
      new Option('--mode <mode>', describeOption('search', DEFAULT_MODE))
        .choices(modes)
        .default(DEFAULT_MODE),
    )
    .option('--path <path>', 'the directory or file to search', memoryPath, ROOT)
    .option(
      '--limit <number>',
      `maximum number of lines, up to ${MAX_RESULTS}`,
      limitArgument,
      DEFAULT_RESULTS,
    )
    .option('--at <time>', 'as of this time', timeArgument)
    .option('--json', 'print JSON')
    .addHelpText('after', TIME_HELP)
    .examples(
      "memory-service search acme 'staging password'",
      "memory-service search acme --mode regex 'v[0-9]+\\.[0-9]+' --path /memories/projects --at 2d",
      "memory-service search --all 'staging password'",
    )
    .action(async (first: string, query: string | undefined, options: SearchOptions, command: CliCommand) => {
      const { all, json, path, mode, limit, at } = options;
      if (all) {
        if (query !== undefined || path !== ROOT || at !== undefined)
          command.error(
            'error: --all works without a tenant, --path, and --at. See: memory-service find --help',
          );
        // A search for a text is exact, and a find compares normal forms unless told otherwise.
        const exact = mode === 'literal' ? ['--exact'] : [];
        const shared = [...exact, '--mode', mode, '--limit', String(limit), ...(json ? ['--json'] : [])];
        // The command is not imported, because it belongs to another feature.
        const find = command.parent?.commands.find((each) => each.name() === 'find');
        if (find === undefined) return command.error('error: --all needs the command find.');
        await find.parseAsync(['--all', '--place', 'current', ...shared, '--', first], { from: 'user' });
        return;
      }
      if (query === undefined)
        command.error('error: name a tenant and a text, or search all tenants with --all');
      const [tenant, given] = [parseArgument(tenantId, first, command), { query, mode, path, limit, at }];
      return command.runConnected(async ({ caller, io }) => {
        const { text, ...found } = await caller.call(searchFiles, { params: { tenant }, query: given });
        const matching = { mode, text: query };
        const hint = found.matches.length > 0 ? '' : ` ${hintAfterNoMatch('search', matching)}`;
        const note = `Searched for ${describeMatching('search', matching)}.${hint}`;
        return { json: found, note, text: sanitizeForTerminal(io.stdout, text) };
      });
    });

/** Parses an argument whose meaning depends on the options. */
function parseArgument(parse: (value: string) => string, value: string, command: CliCommand): string {
  try {
    return parse(value);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return command.error(`error: ${JSON.stringify(value)} is invalid. ${error.message}`);
  }
}

function limitArgument(value: string): number {
  if (/^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_RESULTS) return Number(value);
  throw new InvalidArgumentError(`Use a number from 1 to ${MAX_RESULTS}.`);
}
