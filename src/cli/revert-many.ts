import type { Command } from 'commander';
import { listJobTenants } from '../admin/jobs.ts';
import { applyRevert, startRevert } from '../admin/revert-jobs.ts';
import { OperatorError } from '../errors/errors.ts';
import { amount } from '../lib/units.ts';
import { type Caller, type Connect, firstItems, readItems, withCaller } from './caller.ts';
import { type SelectionOptions, selectionOf } from './find.ts';
import { confirm, type Io } from './io.ts';
import { type JobRecord, waitForJob } from './job-progress.ts';
import { printJson, printLine, printTable } from './output.ts';
import type { Resolutions } from './resolutions.ts';

/* Reverts an actor in many tenants: a dry run, a confirmation, and a job that makes exactly the changes of the dry run. */

/** Exit code of a revert that left conflicts. */
export const CONFLICTS = 3;
export const SIDES = ['reverted', 'current'] as const;

export interface RevertOptions extends Resolutions<(typeof SIDES)[number]>, SelectionOptions {
  by?: string;
  source?: string;
  since: string;
  until?: string;
  dryRun?: boolean;
  plan?: string;
  json?: boolean;
  yes?: boolean;
}

export async function revertMany(
  connect: Connect,
  io: Io,
  options: RevertOptions,
  command: Command,
): Promise<void> {
  const tenants = selectionOf(options, command);
  if (options.plan !== undefined || options.take !== undefined || options.text !== undefined)
    command.error('error: --plan, --take, and --text require one tenant');
  const { by, source, since, until, dryRun = false, yes = false, json = false } = options;
  const body = {
    since,
    tenants,
    ...(source !== undefined ? { source } : by !== undefined && { by }),
    ...(until !== undefined && { until }),
  };
  return withCaller(connect, async (caller) => {
    const started = await caller.call(startRevert, { body });
    printLine(io.stderr, `Job ${started.id}: dry run in ${amount(started.tenants, 'tenant')}.`);
    const tried = await waitForJob(caller, io, started.id);
    if (tried.state !== 'done') throw new OperatorError('The dry run was cancelled.');
    if (dryRun || (tried.counts.files ?? 0) + (tried.counts.directories ?? 0) === 0)
      return report(caller, io, tried, json, true);
    if (!yes) {
      await printOutcomes(caller, io, tried, false);
      printLine(io.stderr, summaryOf(tried, true));
      await confirm(io, 'Make these changes?', 'No tenant was reverted.');
    }
    const applied = await caller.call(applyRevert, { params: { job: tried.id } });
    printLine(io.stderr, `Job ${applied.id}: reverting ${amount(applied.tenants, 'tenant')}.`);
    return report(caller, io, await waitForJob(caller, io, applied.id), json, false);
  });
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
  printLine(io.stderr, summaryOf(job, isDryRun));
  if (left.length === 0) return;
  throw new OperatorError(
    `${left.join(', ')}; not fully reverted. Resolve conflicts in one tenant: memory-service revert TENANT.`,
    { exitCode: CONFLICTS },
  );
}

async function printOutcomes(caller: Caller, io: Io, job: JobRecord, isJson: boolean): Promise<void> {
  const outcomes = readItems(
    caller,
    listJobTenants,
    { params: { job: job.id }, query: { limit: 200 } },
    (page) => page.tenants,
  );
  if (isJson) return printJson(io.stdout, { ...job, outcomes: await firstItems(outcomes) });
  const listed = await firstItems(outcomes);
  // The tenants that were not fully reverted come first.
  const isLeft = ({ counts, error }: (typeof listed)[number]) =>
    error !== null || (counts.conflicts ?? 0) > 0;
  printTable(
    io.stdout,
    ['TENANT', 'CONFLICTS', 'FILES', 'DIRECTORIES', 'ERROR'],
    [...listed.filter(isLeft), ...listed.filter((each) => !isLeft(each))].map(({ tenant, counts, error }) => [
      tenant,
      counts.conflicts ?? null,
      counts.files ?? null,
      counts.directories ?? null,
      error,
    ]),
  );
}

function summaryOf({ id, state, counts, tenants_done: done }: JobRecord, isDryRun: boolean): string {
  const { files = 0, directories = 0, conflicts = 0 } = counts;
  const changes = `${amount(files, 'file')}, ${amount(directories, 'directory', 'directories')}, ${amount(conflicts, 'conflict')}`;
  const verb = isDryRun ? 'Would revert' : 'Reverted';
  const end = state === 'cancelled' ? ' The job was cancelled.' : '';
  const read = ` Read ${amount(done, 'tenant')}.`;
  return `${verb} in job ${id}: ${changes}.${read}${end}`;
}
