import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { revert } from '../history/revert.ts';
import { parseTime } from '../history/time.ts';
import type { Conflict } from '../history/undo.ts';
import type { Actor } from '../memory/origin.ts';
import { databaseTime } from '../postgres/clock.ts';
import { tenantId } from './arguments.ts';
import { CHANGE_LINES, changeLines, changeOptions, DRY_RUN, summary } from './changes-output.ts';
import { amount, type Io, print } from './io.ts';
import { type Open, withDatabase } from './session.ts';

const CONFLICTS = 3;

/** `revert`: what one actor did is undone. */
export function registerRevertCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('revert')
    .description(
      'Undo what one actor did since a time, and nothing else. A file that somebody else changed since is left alone and listed; the exit code is then 3.',
    )
    .argument('<tenant>', 'its id', tenantId)
    .requiredOption(
      '--by <actor>',
      "a key's id or label, the subject of a JWT, operator, anonymous, or the name of a job",
    )
    .requiredOption('--since <time>', 'ISO 8601, or how long ago: 90m, 2h, 3d')
    .option(...DRY_RUN)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
${CHANGE_LINES}

Examples:
  memory-service revert acme --by laptop --since 3d --dry-run
  memory-service revert acme --by k_5f0c2a7d91e4 --since 2026-11-17T09:00:00Z`,
    )
    .action((tenant: string, options: { by: string; since: string; dryRun?: boolean; json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        const { by, dryRun = false, json = false } = options;
        const since = parseTime(options.since, await databaseTime(database));
        const reverted = await revert(database, tenant, { by, since }, changeOptions(config, dryRun));
        const { conflicts } = reverted;
        if (json) {
          await print(io.stdout, [`${JSON.stringify({ tenant, dryRun, ...reverted }, null, 2)}\n`]);
        } else {
          await print(io.stdout, changeLines(reverted.files));
          const verb = dryRun ? 'Would revert' : 'Reverted';
          io.stderr.write(`${verb} in ${tenant} what ${by} did since ${since}: ${summary(reverted)}.\n`);
        }
        if (conflicts.length === 0) return;
        const list = conflicts.map((conflict) => `\n  ${describe(conflict)}`).join('');
        throw new OperatorError(
          `${amount(conflicts.length, 'conflict')}, where something of it stays:${list}`,
          { exitCode: CONFLICTS },
        );
      }),
    );
}

function describe(conflict: Conflict): string {
  const path = conflict.path ?? `the file ${conflict.memoryId}`;
  switch (conflict.reason) {
    case 'changed':
      return `${path}: ${nameOf(conflict.changedBy)} changed it at ${conflict.changedAt}. It is left alone.`;
    case 'mixed':
      return `${path}: ${nameOf(conflict.changedBy)} changed it in between, at ${conflict.changedAt}. Only what came after is reverted.`;
    case 'occupied':
      return `${path}: something else is at ${conflict.at} now. It is left alone.`;
    case 'pruned':
    case 'redacted':
      return `${path}: what was there before was ${conflict.reason}. It is left alone.`;
  }
}

function nameOf(actor: Actor): string {
  switch (actor.type) {
    case 'api_key':
      return `the key ${actor.label || actor.id}`;
    case 'jwt':
      return actor.subject ?? 'somebody with a token';
    case 'operator':
      return `the operator ${actor.name}`;
    case 'system':
      return `the job ${actor.job}`;
    case 'anonymous':
      return 'somebody';
  }
}
