import { InvalidArgumentError } from 'commander';
import { positiveInteger } from '../../../core/cli/arguments.ts';
import { readList } from '../../../core/cli/caller.ts';
import { type Cli, command, group } from '../../../core/cli/cli-command.ts';
import type { Io } from '../../../core/cli/io.ts';
import { printLine, table, time } from '../../../core/cli/output.ts';
import { isUuid } from '../../../core/lib/text-forms.ts';
import { actorText } from '../../../core/memory/origin.ts';
import { cancelJobOperation, getJob, listJobs, listJobTenants } from '../admin/job-operations.ts';
import { eraseSummary } from './erase-command.ts';
import { printHits } from './find-command.ts';
import { outcomesTable, progressText } from './job-progress.ts';

function jobArgument(value: string): string {
  if (isUuid(value)) return value;
  throw new InvalidArgumentError('Use the ID of a job from `memory-service jobs list`.');
}

const listCommand = (cli: Cli) =>
  command(cli, 'list', 'List jobs, newest first. Jobs are deleted 30 days after their end.')
    .option('--active', 'only jobs that have not ended')
    .option('--limit <n>', 'maximum number of jobs', positiveInteger)
    .option('--json', 'print JSON')
    .examples('memory-service jobs list --active')
    .run(async ({ caller }, { active, limit = 50 }: { active?: boolean; limit?: number }) => {
      const query = active ? { active } : {};
      const listed = await readList(caller, listJobs, { query }, (page) => page.jobs, limit);
      const text = table(listed, {
        JOB: (job) => job.id,
        KIND: (job) => job.kind,
        STATE: (job) => job.state,
        TENANTS: (job) => `${job.tenants_done} of ${job.tenants}`,
        HITS: (job) => job.counts.hits,
        CREATED: (job) => time(job.created_at),
        BY: (job) => actorText(job.created_by),
      });
      return { json: listed, text };
    });

const showCommand = (cli: Cli) =>
  command(cli, 'show', 'Show the progress of a job, and its outcomes by tenant.')
    .argument('<job>', 'ID of the job', jobArgument)
    .option('--limit <n>', 'maximum number of tenants', positiveInteger)
    .option('--json', 'print JSON')
    .examples('memory-service jobs show 0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52')
    .run(async ({ caller }, job: string, { limit = 50 }: { limit?: number }) => {
      const params = { job };
      const record = await caller.call(getJob, { params });
      const outcomes = await readList(caller, listJobTenants, { params }, ({ tenants }) => tenants, limit);
      const text = (io: Io) => {
        const total = { tenant: 'TOTAL', counts: record.counts, error: null };
        outcomesTable([...outcomes, total], Object.keys(record.counts))(io);
        const exact = record.is_exact ? 'The counts are exact.' : 'The counts are a lower bound.';
        printLine(io.stderr, `${record.kind}: ${record.state}, ${progressText(record)}. ${exact}`);
      };
      return { json: { ...record, outcomes }, text };
    });

const hitsCommand = (cli: Cli) =>
  command(cli, 'hits', 'Print the hits of a find, or of the dry run of an erasure.')
    .argument('<job>', 'ID of the job', jobArgument)
    .option('--limit <n>', 'maximum number of hits', positiveInteger)
    .option('--json', 'print JSON, one hit per line')
    .examples('memory-service jobs hits 0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52 --limit 1000')
    .run(async ({ caller, io }, job: string, { limit = 100, json }: { limit?: number; json?: boolean }) => {
      const record = await caller.call(getJob, { params: { job } });
      const describe = record.kind === 'erase' ? eraseSummary : undefined;
      await printHits(caller, io, record, { limit, json }, describe);
    });

const cancelCommand = (cli: Cli) =>
  command(cli, 'cancel', 'Cancel a job. Its changes to tenants that it has already processed are not undone.')
    .argument('<job>', 'ID of the job', jobArgument)
    .option('--json', 'print JSON')
    .examples('memory-service jobs cancel 0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52')
    .run(async ({ caller }, job: string) => {
      const record = await caller.call(cancelJobOperation, { params: { job } });
      const end = record.state === 'cancelled' ? 'Cancelled' : `The job had ended (${record.state}):`;
      return { json: record, text: `${end} ${record.kind} ${record.id} after ${progressText(record)}.` };
    });

export const jobCommands = group('jobs', 'Follow and cancel jobs over tenants, such as a find.', [
  listCommand,
  showCommand,
  hitsCommand,
  cancelCommand,
]);
