import type { Command } from 'commander';
import { type Caller, type Context, readList } from '../../../core/cli/caller.ts';
import { confirm, type Io } from '../../../core/cli/io.ts';
import { printJson, printLine, printTable, table } from '../../../core/cli/output.ts';
import { CONFLICTS, type RevertOptions } from '../../../core/cli/over-tenants.ts';
import { keptOutText } from '../../../core/cli/restore-commands.ts';
import { toSelection } from '../../../core/cli/selection-options.ts';
import { OperatorError } from '../../../core/errors/errors.ts';
import type { Conflict } from '../../../core/history/conflicts.ts';
import { amount } from '../../../core/lib/units.ts';
import { listJobTenants } from '../admin/job-operations.ts';
import { applyRevert, listConflicts, startRevert } from '../admin/revert-jobs.ts';
import { foundByText, type JobRecord, waitForJob } from './job-progress.ts';

/*
 * Reverts an actor's changes in many tenants: a dry run, a confirmation, and a job that makes exactly the dry run's
 * changes.
 */

export function revertMany(options: RevertOptions, command: Command): (context: Context) => Promise<void> {
  const tenants = toSelection(options, command);
  if (options.plan !== undefined || options.take !== undefined || options.text !== undefined)
    command.error('error: --plan, --take, and --text require one tenant. Use --take-all for all conflicts');
  const { by, source, since, until, takeAll, dryRun = false, yes = false, json = false } = options;
  const body = {
    since,
    take_all: takeAll,
    tenants,
    ...(source !== undefined ? { source } : by !== undefined && { by }),
    ...(until !== undefined && { until }),
  };
  return async ({ caller, io }) => {
    const started = await caller.call(startRevert, { body });
    printLine(io.stderr, `Job ${started.id}: dry run in ${amount(started.tenants, 'tenant')}.`);
    const tried = await waitForJob(caller, io, started.id);
    if (tried.state !== 'done') throw new OperatorError('The dry run was cancelled.');
    if (dryRun || (tried.counts.files ?? 0) + (tried.counts.directories ?? 0) === 0)
      return report(caller, io, tried, json, true);
    if (!yes) {
      await printOutcomes(caller, io, tried, false);
      printLine(io.stderr, revertSummary(tried, true));
      await confirm(io, 'Make these changes?', 'No tenant was reverted.');
    }
    const applied = await caller.call(applyRevert, { params: { job: tried.id } });
    printLine(io.stderr, `Job ${applied.id}: reverting ${amount(applied.tenants, 'tenant')}.`);
    return report(caller, io, await waitForJob(caller, io, applied.id), json, false);
  };
}

async function report(
  caller: Caller,
  io: Io,
  job: JobRecord,
  isJson: boolean,
  isDryRun: boolean,
): Promise<void> {
  const { conflicts = 0 } = job.counts;
  const left = [
    ...(conflicts > 0 ? [amount(conflicts, 'conflict')] : []),
    ...(job.tenants_failed > 0 ? [amount(job.tenants_failed, 'failed tenant')] : []),
  ];
  if (left.length > 0) printLine(io.stderr, `NOT reverted: ${left.join(', ')}.`);
  await printOutcomes(caller, io, job, isJson);
  printLine(io.stderr, revertSummary(job, isDryRun));
  if (left.length === 0) return;
  throw new OperatorError(
    `${left.join(', ')}; not fully reverted. Resolve all conflicts with --take-all reverted or --take-all current, or those in one tenant: memory-service revert TENANT.`,
    { exitCode: CONFLICTS },
  );
}

async function printOutcomes(caller: Caller, io: Io, job: JobRecord, isJson: boolean): Promise<void> {
  const input = { params: { job: job.id }, query: { limit: 200 } };
  const listed = await readList(caller, listJobTenants, input, (page) => page.tenants);
  const files = await readJobConflicts(caller, job, listed);
  if (isJson) {
    const records = listed.map((each) => ({ ...each, conflicts: files.get(each.tenant) ?? [] }));
    return printJson(io.stdout, { ...job, outcomes: records });
  }
  // The tenants that were not fully reverted come first.
  const isLeft = ({ counts, error }: (typeof listed)[number]) =>
    error !== null || (counts.conflicts ?? 0) > 0;
  table([...listed.filter(isLeft), ...listed.filter((each) => !isLeft(each))], {
    TENANT: ({ tenant }) => tenant,
    CONFLICTS: ({ counts }) => counts.conflicts,
    FILES: ({ counts }) => counts.files,
    DIRECTORIES: ({ counts }) => counts.directories,
    DRAFTS: ({ counts }) => counts.drafts,
    'KEPT OUT': ({ counts }) => counts.kept_out,
    ERROR: ({ error }) => error,
  })(io);
  const rows = [...files].flatMap(([tenant, conflicts]) =>
    conflicts.map(({ path, reason }) => [tenant, path, REASONS[reason]]),
  );
  if (rows.length === 0) return;
  printLine(io.stdout, '');
  printTable(io.stdout, ['TENANT', 'CONFLICT', 'REASON'], rows);
}

type ConflictRecord = Awaited<ReturnType<typeof listConflicts.run>>['conflicts'][number];

const REASONS: Record<Conflict['reason'], string> = {
  content: 'others changed the same lines',
  path: 'others moved it as well',
  deleted_in_reverted: 'others changed it, and the revert would delete it',
  deleted_in_current: 'others deleted it',
  occupied: 'its path is occupied',
  pruned: 'a version that the revert needs was pruned',
  redacted: 'a version that the revert needs was redacted',
  resolved: 'resolved',
};

/** Lists the tenants' conflicts by tenant. */
async function readJobConflicts(
  caller: Caller,
  { id: job }: JobRecord,
  outcomes: readonly { tenant: string; counts: JobRecord['counts'] }[],
): Promise<Map<string, ConflictRecord[]>> {
  const found = new Map<string, ConflictRecord[]>();
  for (const { tenant, counts } of outcomes) {
    if ((counts.conflicts ?? 0) === 0) continue;
    const input = { params: { job, tenant }, query: { limit: 200 } };
    found.set(tenant, await readList(caller, listConflicts, input, ({ conflicts }) => conflicts));
  }
  return found;
}

function revertSummary(job: JobRecord, isDryRun: boolean): string {
  const { id, state, counts, tenants_done: done } = job;
  const { files = 0, directories = 0, conflicts = 0, resolved = 0, drafts = 0, kept_out = 0 } = counts;
  const changes = [
    amount(files, 'file'),
    amount(directories, 'directory', 'directories'),
    ...(resolved > 0 ? [amount(resolved, 'resolved conflict')] : []),
    amount(conflicts, 'conflict'),
  ].join(', ');
  const verb = isDryRun ? 'Would revert' : 'Reverted';
  const end = state === 'cancelled' ? ' The job was cancelled.' : '';
  const warning = kept_out === 0 ? '' : ` ${keptOutText(kept_out)}`;
  const read = ` Read ${amount(done, 'tenant')}.`;
  const kept =
    drafts === 0
      ? ''
      : ` ${amount(drafts, 'open draft')} may still contain the changes. Reject or edit ${drafts === 1 ? 'this draft' : 'these drafts'}.`;
  return `${verb} in job ${id}: ${changes}.${read}${foundByText(job)}${kept}${warning}${end}`;
}
