import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { countsOf, summary } from '../history/apply.ts';
import { History } from '../history/history.ts';
import { conflictText, revert } from '../history/revert.ts';
import { shownTime } from '../history/time-text.ts';
import { amount } from '../util/amount.ts';
import { tenantId } from './arguments.ts';
import { CHANGE_LINES, changeLines, changeOptions, DRY_RUN, PLAN } from './changes-output.ts';
import { TIME_HELP, timeArgument, timeOf } from './history-arguments.ts';
import { checkActor } from './history-subjects.ts';
import { type Io, Progress, print } from './io.ts';
import { formatJson } from './output.ts';
import { audited, type Open, withDatabase } from './session.ts';

const CONFLICTS = 3;

interface Options {
  by: string;
  since: string;
  until?: string;
  dryRun?: boolean;
  plan?: string;
  json?: boolean;
}

/** `revert`: what one actor did is undone. */
export function registerRevertCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('revert')
    .description(
      'Undo what one actor has done since a time, and nothing else. Files that someone else has changed since are left unchanged and listed, and the exit code is 3.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .requiredOption(
      '--by <actor>',
      'the ID or label of a key, the subject of a token, the name of a job, `operator`, or `anonymous`',
    )
    .requiredOption('--since <time>', 'undo changes since this time', timeArgument)
    .option(
      '--until <time>',
      'undo changes up to this time (default: now), and leave alone what the actor did later',
      timeArgument,
    )
    .option(...DRY_RUN)
    .option(...PLAN)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${TIME_HELP}
${CHANGE_LINES}

Examples:
  memory-service revert acme --by laptop --since 3d --dry-run
  memory-service revert acme --by key_5f0c2a7d91e4 --since 2026-11-17T09:00:00Z
  memory-service revert acme --by laptop --since 2026-11-17T09:00:00Z --until 2026-11-17T10:00:00Z`,
    )
    .action((tenant: string, options: Options) =>
      withDatabase(open, async ({ config, database }) => {
        const { by, dryRun = false, json = false } = options;
        const since = await timeOf(database, options.since);
        const until = options.until === undefined ? undefined : await timeOf(database, options.until);
        const progress = new Progress(io.stderr, 'Read', 'version');
        const onProgress = (versions: number) => progress.update(versions);
        const change = { ...changeOptions(config, options), onProgress };
        const reverted = await audited(database, 'revert', { tenant, dryRun }, async (note) => {
          const made = await revert(database, tenant, { by, since, until }, change).finally(() =>
            progress.end(),
          );
          note({ details: { ...countsOf(made), conflicts: made.conflicts.length } });
          return made;
        });
        const { conflicts } = reverted;
        if (reverted.files.length + conflicts.length === 0)
          await checkActor(new History(database), tenant, by);
        if (json) {
          await print(io.stdout, [formatJson({ tenant, dryRun, ...reverted })]);
        } else {
          await print(io.stdout, changeLines(reverted.files));
          const end = until === undefined ? '' : ` and until ${shownTime(until)}`;
          const verb = dryRun ? 'Would revert' : 'Reverted';
          io.stderr.write(
            `${verb} what ${by} did in ${tenant} since ${shownTime(since)}${end}: ${summary(reverted)}.\n`,
          );
        }
        if (conflicts.length === 0) return;
        const list = conflicts.map((conflict) => `\n  ${conflictText(conflict)}`).join('');
        throw new OperatorError(`${amount(conflicts.length, 'conflict')}; not fully reverted:${list}`, {
          exitCode: CONFLICTS,
        });
      }),
    );
}
