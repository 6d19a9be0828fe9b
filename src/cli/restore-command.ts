import { type Command, Option } from 'commander';
import { type ChangeOptions, type Changes, countsOf, summary } from '../history/apply.ts';
import { restoreAt, restoreVersion } from '../history/restore.ts';
import { fullVersionId } from '../history/version.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { CHANGE_LINES, changeLines, changeOptions, DRY_RUN, PLAN } from './changes-output.ts';
import { TIME_HELP, timeArgument, timeOf, VERSION_HELP, versionArgument } from './history-arguments.ts';
import { type Io, print } from './io.ts';
import { formatJson } from './output.ts';
import { audited, type Open, withDatabase } from './session.ts';

interface Options {
  at?: string;
  version?: string;
  dryRun?: boolean;
  plan?: string;
  json?: boolean;
}

/** `restore`: a tenant's memory, or a part of it, as it was. */
export function registerRestoreCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('restore')
    .description(
      'Restore a file, a directory, or the whole memory to a past time. With --version, restore a file to that version, at the path it had then; with a path as well, write the content of the version to that path and leave the file where it is. If a path is occupied, nothing changes. Another restore undoes it.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument(
      '[path]',
      'the file or directory (default: the whole memory); with --version, where to put its content',
      memoryPath,
    )
    .addOption(new Option('--at <time>', 'the time to restore').argParser(timeArgument).conflicts('version'))
    .option('--version <id>', VERSION_HELP, versionArgument)
    .option(...DRY_RUN)
    .option(...PLAN)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${TIME_HELP}
${CHANGE_LINES}

Examples:
  memory-service restore acme --at 2h --dry-run
  memory-service restore acme /memories/projects --at 2026-11-17T09:00:00Z
  memory-service restore acme --version 01a20877-6010
  memory-service restore acme /memories/old-notes.md --version 01a20877-6010`,
    )
    .action((tenant: string, path: MemoryPath | undefined, options: Options, command: Command) => {
      if (options.at === undefined && options.version === undefined) {
        command.error('error: requires --at <time> or --version <id>');
      }
      return withDatabase(open, async ({ config, database }) => {
        const { dryRun = false, json = false } = options;
        const changes = await audited(database, 'restore', { tenant, dryRun }, async (note) => {
          const made = await restore(database, tenant, path, options, changeOptions(config, options));
          note({ details: countsOf(made) });
          return made;
        });
        if (json) return print(io.stdout, [formatJson({ tenant, dryRun, ...changes })]);
        await print(io.stdout, changeLines(changes.files));
        io.stderr.write(`${dryRun ? 'Would restore' : 'Restored'} ${tenant}: ${summary(changes)}.\n`);
      });
    });
}

async function restore(
  database: Database,
  tenant: string,
  path: MemoryPath | undefined,
  { at, version }: Options,
  options: ChangeOptions,
): Promise<Changes> {
  if (at !== undefined) {
    return restoreAt(database, tenant, { path: path ?? ROOT, at: await timeOf(database, at) }, options);
  }
  const id = await fullVersionId(database, tenant, version ?? '');
  return restoreVersion(database, tenant, { version: id, path }, options);
}
