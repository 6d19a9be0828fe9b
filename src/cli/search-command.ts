import { type Command, InvalidArgumentError, Option } from 'commander';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { DEFAULT_RESULTS, MAX_RESULTS, modes } from '../search/query.ts';
import { memoryPath, TIME_HELP, tenantId, timeArgument, timesOf } from './arguments.ts';
import { type Io, print } from './io.ts';
import { formatJson, shown } from './output.ts';
import { type Open, withTenant } from './session.ts';

interface SearchOptions {
  mode: string;
  path: MemoryPath;
  limit: number;
  at?: string;
  json?: boolean;
}

/** `search`: finds files by their contents and paths, as the tool `memory_search` does. */
export function registerSearchCommand(program: Command, open: Open, io: Io): void {
  program
    .command('search')
    .description('Find files by words, a literal text, or a regular expression.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<query>', 'what to look for')
    .addOption(
      new Option('--mode <mode>', 'words (best matches first), literal, or regex (RE2 syntax)')
        .choices(modes)
        .default('words'),
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
    .addHelpText(
      'after',
      `${TIME_HELP}\n\nExamples:\n  memory-service search acme 'staging password'\n  memory-service search acme --mode regex 'v[0-9]+\\.[0-9]+' --path /memories/projects --at 2d`,
    )
    .action((tenant: string, query: string, { json, path, mode, limit, ...options }: SearchOptions) =>
      withTenant(open, tenant, async ({ database, tenant: row }) => {
        // Imported on demand: no other command searches.
        const { MemorySearch } = await import('../search/search.ts');
        const { searchForOperator } = await import('../search/operator-search.ts');
        const search = new MemorySearch();
        try {
          const { at } = await timesOf(database, options);
          const input = { query, mode, path, max_results: limit };
          const { content, matches, more } = await searchForOperator(search, database, {
            tenant: row,
            input,
            at,
          });
          await print(io.stdout, [json ? formatJson({ matches, more }) : `${shown(io.stdout, content)}\n`]);
        } finally {
          await search.close();
        }
      }),
    );
}

function limitArgument(value: string): number {
  if (/^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_RESULTS) return Number(value);
  throw new InvalidArgumentError(`Use a number from 1 to ${MAX_RESULTS}.`);
}
