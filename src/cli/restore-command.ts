import { type Command, Option } from 'commander';
import { OperatorError } from '../errors.ts';
import type { ChangeOptions, Changes } from '../history/apply.ts';
import { summary } from '../history/outcome-text.ts';
import { restoreAt, restoreVersion } from '../history/restore.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { CHANGE_LINES, changeLines, changeOptions, DRY_RUN } from './changes-output.ts';
import { timeOf } from './history-arguments.ts';
import { type Io, print } from './io.ts';
import { type Open, withDatabase } from './session.ts';

interface Options {
  at?: string;
  version?: string;
  dryRun?: boolean;
  json?: boolean;
}

/** `restore`: a tenant's memory, or a part of it, as it was. */
export function registerRestoreCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('restore')
    .description(
      'Restore a file, a directory, or the whole memory to a past time, or with --version a file to that version. If anything is in the way, nothing changes. Another restore undoes it.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument(
      '[path]',
      'the file or directory (default: the whole memory); with --version, where to restore the file (default: its path then)',
      memoryPath,
    )
    .addOption(new Option('--at <time>', 'ISO 8601, or how long ago: 90m, 2h, 3d').conflicts('version'))
    .option('--version <id>', 'ID of a version, from `log`')
    .option(...DRY_RUN)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
${CHANGE_LINES}

Examples:
  memory-service restore acme --at 2h --dry-run
  memory-service restore acme /memories/projects --at 2026-11-17T09:00:00Z
  memory-service restore acme --version 0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52`,
    )
    .action((tenant: string, path: MemoryPath | undefined, options: Options) =>
      withDatabase(open, async ({ config, database }) => {
        const { dryRun = false, json = false } = options;
        const changes = await restore(database, tenant, path, options, changeOptions(config, dryRun));
        if (json) return print(io.stdout, [`${JSON.stringify({ tenant, dryRun, ...changes }, null, 2)}\n`]);
        await print(io.stdout, changeLines(changes.files));
        io.stderr.write(`${dryRun ? 'Would restore' : 'Restored'} ${tenant}: ${summary(changes)}.\n`);
      }),
    );
}

async function restore(
  database: Database,
  tenant: string,
  path: MemoryPath | undefined,
  { at, version }: Options,
  options: ChangeOptions,
): Promise<Changes> {
  if (version !== undefined) return restoreVersion(database, tenant, { version, path }, options);
  if (at === undefined) throw new OperatorError('Give either --at <time> or --version <id>.');
  const time = await timeOf(database, at);
  return restoreAt(database, tenant, { path: path ?? ROOT, at: time }, options);
}
