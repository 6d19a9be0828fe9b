import { Option } from 'commander';
import type { OperationProgress } from '../admin/admin-operation.ts';
import { revert } from '../admin/reverts.ts';
import { OperatorError } from '../errors/errors.ts';
import { SIDES } from '../history/conflicts.ts';
import { displayTime } from '../history/time-text.ts';
import type { ActorOrSource } from '../history/version.ts';
import { amount } from '../lib/units.ts';
import { sourceOption, TIME_HELP, tenantId, timeArgument } from './arguments.ts';
import type { Caller } from './caller.ts';
import { type Cli, type CliCommand, command } from './cli-command.ts';
import { Progress, print } from './io.ts';
import { checkActor, resolveTime } from './log-command.ts';
import { formatJson } from './output.ts';
import { CONFLICTS, type RevertOptions } from './over-tenants.ts';
import { findResolutions, takeArgument, textArgument } from './resolutions.ts';
import { CHANGE_LINES, changeLines, DRY_RUN, keptOutLines, PLAN } from './restore-commands.ts';
import { addSelectionOptions, rejectSelection } from './selection-options.ts';

export const revertCommand = (cli: Cli) =>
  command(
    cli,
    'revert',
    'Undo the changes of an actor, a source, or a period. Changes of others in other lines are kept. Files in which others changed the same lines are left unchanged and listed first, and the exit code is 3. Resolve each of them with --take or --text, or all of them with --take-all.',
  )
    .argument('[tenant]', 'tenant ID; without it, choose tenants with --all or another option', tenantId)
    .option(
      '--by <actor>',
      'the ID or label of a key, the subject of a token, the name of a job, the ID of a draft, `operator`, or `anonymous`; whoever approved a change counts as its author, too',
    )
    .addOption(sourceOption('instead of --by: undo changes made with keys of this source: web, import, …'))
    .requiredOption('--since <time>', 'undo changes since this time', timeArgument)
    .option(
      '--until <time>',
      'undo changes up to this time (default: now), and keep later ones; without --by and --source, undo the changes of all actors in the period',
      timeArgument,
    )
    .option('--take <path=side>', 'resolve a file: take the side reverted or current', takeArgument(SIDES))
    .option('--text <path=file>', 'resolve a file with the content of a local file', textArgument)
    .addOption(new Option('--take-all <side>', 'resolve all other conflicts with this side').choices(SIDES))
    .option(...DRY_RUN)
    .option(...PLAN)
    .option('--json', 'print JSON')
    .option('--yes', 'do not ask for confirmation, for many tenants')
    .with((revert) => cli.overTenants && addSelectionOptions(revert))
    .addHelpText(
      'after',
      `${TIME_HELP}
${CHANGE_LINES}`,
    )
    .examples(
      'memory-service revert acme --by laptop --since 3d --dry-run',
      'memory-service revert acme --by key_5f0c2a7d91e4 --since 2026-11-17T09:00:00Z',
      'memory-service revert acme --source web --since 2026-11-17T09:00:00Z --until 2026-11-17T10:00:00Z',
      'memory-service revert acme --by laptop --since 3d --take /memories/a.md=reverted --text /memories/b.md=merged.md',
      'memory-service revert --all --source web --since 1d --dry-run',
      'memory-service revert --all --source web --since 1d --take-all reverted',
      'memory-service revert --metadata plan=pro --by crawler --since 1d',
    )
    .action((tenant: string | undefined, options: RevertOptions, command: CliCommand) => {
      const { by, source } = options;
      if ([by, source, options.until].every((each) => each === undefined))
        command.error('error: requires --by <actor>, --source <source>, or --until <time>');
      if (tenant === undefined) {
        if (cli.overTenants) return command.runConnected(cli.overTenants.revert(options, command));
        return command.error("error: missing required argument 'tenant'");
      }
      rejectSelection(options, command);
      return command.runConnected(async ({ caller, io }) => {
        const { takeAll, dryRun = false, plan, json = false } = options;
        const since = await resolveTime(caller, tenant, options.since);
        const until = options.until && (await resolveTime(caller, tenant, options.until));
        const progress = new Progress(io.stderr, 'Read', 'version');
        const onProgress = (now: OperationProgress) => {
          if (now.step === 'read') progress.update(now.items);
        };
        const selection = { by, source, since, until };
        const resolutions = await findResolutions(options, () => affectedFiles(caller, tenant, selection));
        const body = { ...selection, resolutions, take_all: takeAll, dry_run: dryRun, plan };
        const reverted = await caller
          .call(revert, { params: { tenant }, body, onProgress })
          .finally(() => progress.end());
        if (reverted.files.length + reverted.conflicts.length === 0)
          await checkActor(caller, tenant, options);
        const left = reverted.conflicts.filter(({ resolution }) => resolution === null);
        if (json) {
          await print(io.stdout, [formatJson({ tenant, ...reverted })]);
        } else {
          await print(io.stderr, conflictLines(reverted.conflicts));
          await print(io.stdout, changeLines(reverted.files));
          await print(io.stderr, keptOutLines(reverted.kept_out));
          const end = until === undefined ? '' : ` and until ${displayTime(until)}`;
          const verb = dryRun ? 'Would revert' : 'Reverted';
          const actor = source === undefined ? (by ?? 'all actors') : `source ${source}`;
          io.stderr.write(
            `${verb} what ${actor} did in ${tenant} since ${displayTime(since)}${end}: ${reverted.summary}.\n`,
          );
          if (reverted.drafts.length > 0)
            io.stderr.write(
              `Open drafts that may still contain the changes: ${reverted.drafts.join(', ')}. Before a merge, reject or edit these drafts.\n`,
            );
        }
        if (left.length === 0) return;
        throw new OperatorError(
          `${amount(left.length, 'conflict')}; not fully reverted. Resolve a file with --take PATH=reverted, --take PATH=current, or --text PATH=FILE, or all of them with --take-all.`,
          { exitCode: CONFLICTS },
        );
      });
    });

type Reverted = Awaited<ReturnType<typeof revert.run>>;

/** Prints the changes that were not reverted before the files with a resolution. */
function* conflictLines(conflicts: Reverted['conflicts']): Generator<string> {
  const left = conflicts.filter(({ resolution }) => resolution === null);
  if (left.length > 0) yield `NOT reverted: ${amount(left.length, 'conflict')}.\n`;
  for (const { message } of left) yield `  ${message}\n`;
  for (const { message, resolution } of conflicts) if (resolution !== null) yield `${message}\n`;
}

/** Lists the paths and IDs for the files in a revert. */
async function affectedFiles(caller: Caller, tenant: string, selection: ActorOrSource & { since: string }) {
  const { conflicts, files } = await caller.call(revert, {
    params: { tenant },
    body: { ...selection, resolutions: [], dry_run: true },
  });
  return [...files, ...conflicts].flatMap(({ path, memory_id: id }) =>
    path === null || id === null ? [] : [{ path, id }],
  );
}
