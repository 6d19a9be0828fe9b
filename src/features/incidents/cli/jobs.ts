import { type Command, InvalidArgumentError } from 'commander';
import { positiveInteger } from '../../../core/cli/arguments.ts';
import { type Cli, firstItems, readItems, withCaller } from '../../../core/cli/caller.ts';
import { printJson, printLine, printTable, time } from '../../../core/cli/output.ts';
import { isUuid } from '../../../core/lib/text.ts';
import { actorText } from '../../../core/memory/origin.ts';
import { cancelJobOperation, getJob, listJobs, listJobTenants } from '../admin/jobs.ts';
import { eraseSummary } from './erase.ts';
import { printHits } from './find.ts';
import { progressText } from './job-progress.ts';

function jobArgument(value: string): string {
  if (isUuid(value)) return value;
  throw new InvalidArgumentError('Use the ID of a job from `memory-service jobs list`.');
}

export function registerJobCommands(program: Command, cli: Cli): void {
  const jobs = program.command('jobs').description('Follow and cancel jobs over tenants, such as a find.');
  registerList(jobs, cli);
  registerShow(jobs, cli);
  registerHits(jobs, cli);
  registerCancel(jobs, cli);
}

function registerList(jobs: Command, { connect, io }: Cli): void {
  jobs
    .command('list')
    .description('List jobs, newest first. Jobs are deleted 30 days after their end.')
    .option('--active', 'only jobs that have not ended')
    .option('--limit <n>', 'maximum number of jobs', positiveInteger)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service jobs list --active')
    .action(({ active, limit, json }: { active?: boolean; limit?: number; json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const query = active ? { active } : {};
        const listed = await firstItems(
          readItems(caller, listJobs, { query }, (page) => page.jobs),
          limit ?? 50,
        );
        if (json) return printJson(io.stdout, listed);
        printTable(
          io.stdout,
          ['JOB', 'KIND', 'STATE', 'TENANTS', 'HITS', 'CREATED', 'BY'],
          listed.map((job) => [
            job.id,
            job.kind,
            job.state,
            `${job.tenants_done} of ${job.tenants}`,
            job.counts.hits ?? null,
            time(job.created_at),
            actorText(job.created_by),
          ]),
        );
      }),
    );
}

function registerShow(jobs: Command, { connect, io }: Cli): void {
  jobs
    .command('show')
    .description('Show the progress of a job, and its outcomes by tenant.')
    .argument('<job>', 'ID of the job', jobArgument)
    .option('--limit <n>', 'maximum number of tenants', positiveInteger)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service jobs show 0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52')
    .action((job: string, { limit, json }: { limit?: number; json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const record = await caller.call(getJob, { params: { job } });
        const outcomes = await firstItems(
          readItems(caller, listJobTenants, { params: { job } }, ({ tenants }) => tenants),
          limit ?? 50,
        );
        if (json) return printJson(io.stdout, { ...record, outcomes });
        const names = Object.keys(record.counts);
        printTable(
          io.stdout,
          ['TENANT', ...names.map((name) => name.toUpperCase()), 'ERROR'],
          [
            ...outcomes.map(({ tenant, counts, error }) => [
              tenant,
              ...names.map((name) => counts[name] ?? 0),
              error,
            ]),
            ['TOTAL', ...names.map((name) => record.counts[name] ?? 0), null],
          ],
        );
        const exact = record.is_exact ? 'The counts are exact.' : 'The counts are a lower bound.';
        printLine(io.stderr, `${record.kind}: ${record.state}, ${progressText(record)}. ${exact}`);
      }),
    );
}

function registerHits(jobs: Command, { connect, io }: Cli): void {
  jobs
    .command('hits')
    .description('Print the hits of a find, or of the dry run of an erasure.')
    .argument('<job>', 'ID of the job', jobArgument)
    .option('--limit <n>', 'maximum number of hits', positiveInteger)
    .option('--json', 'print JSON, one hit per line')
    .addHelpText(
      'after',
      '\nExample:\n  memory-service jobs hits 0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52 --limit 1000',
    )
    .action((job: string, { limit = 100, json }: { limit?: number; json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const record = await caller.call(getJob, { params: { job } });
        const describe = record.kind === 'erase' ? eraseSummary : undefined;
        await printHits(caller, io, record, { limit, json }, describe);
      }),
    );
}

function registerCancel(jobs: Command, { connect, io }: Cli): void {
  jobs
    .command('cancel')
    .description('Cancel a job. The outcomes of completed tenants are kept.')
    .argument('<job>', 'ID of the job', jobArgument)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service jobs cancel 0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52')
    .action((job: string, { json }: { json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const record = await caller.call(cancelJobOperation, { params: { job } });
        if (json) return printJson(io.stdout, record);
        const end = record.state === 'cancelled' ? 'Cancelled' : `The job had ended (${record.state}):`;
        printLine(io.stdout, `${end} ${record.kind} ${record.id} after ${progressText(record)}.`);
      }),
    );
}
