import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../../../core/cli/caller.ts';
import type { Io } from '../../../core/cli/io.ts';
import { table } from '../../../core/cli/output.ts';
import { amount } from '../../../core/lib/units.ts';
import { getJob } from '../admin/job-operations.ts';
import { jobKinds } from '../kinds.ts';
import { JobRunner } from '../runner.ts';

export type JobRecord = Awaited<ReturnType<typeof getJob.run>>;

/** Formats a job's progress, such as `3 of 5 tenants`. */
export function progressText({ tenants, tenants_done: done }: JobRecord): string {
  return `${done} of ${amount(tenants, 'tenant')}`;
}

/** Creates a table's text with the counts for each outcome. */
export const outcomesTable = (outcomes: readonly Outcome[], counts: readonly string[]) =>
  table(outcomes, {
    TENANT: ({ tenant }) => tenant,
    ...Object.fromEntries(
      counts.map((name) => [name.toUpperCase(), (each: Outcome) => each.counts[name] ?? 0]),
    ),
    ERROR: ({ error }) => error,
  });

interface Outcome extends Pick<JobRecord, 'counts'> {
  tenant: string;
  error: string | null;
}

/** Names the job that selected the tenants, if the job may have missed some. */
export function foundByText({ selection: { found_by: job, found_by_state: state } }: JobRecord): string {
  if (state === 'cancelled') return ` Job ${job}, which selected the tenants, was cancelled before its end.`;
  if (state === 'inexact') return ` Job ${job}, which selected the tenants, could not read all versions.`;
  return '';
}

const POLL_MS = 500;

/**
 * Waits for the job's end, and shows its progress on a terminal. A command on the database runs jobs itself, because a
 * service may not be running. Otherwise, a service replica runs the job.
 */
export async function waitForJob(caller: Caller, { stderr }: Io, id: string): Promise<JobRecord> {
  const { local } = caller;
  const runner = local && new JobRunner(local.database, jobKinds(local.database, local.config));
  let running: Promise<boolean> | undefined;
  try {
    for (;;) {
      const job = await caller.call(getJob, { params: { job: id } });
      if (stderr.isTTY) stderr.write(`\r\u001b[K${job.ended_at === null ? progressLine(job) : ''}`);
      if (job.ended_at !== null) return job;
      running ??= runner?.run().finally(() => {
        running = undefined;
      });
      running?.catch(() => {});
      const ran = await Promise.race([...(running ? [running] : []), delay(POLL_MS, true)]);
      if (!ran) await delay(POLL_MS);
    }
  } finally {
    await runner?.stop();
  }
}

function progressLine(job: JobRecord): string {
  const sum = (name: string) => (job.counts[name] ?? 0) + (job.progress?.[name] ?? 0);
  const read = sum(job.kind === 'erase' ? 'searched' : 'versions');
  return `${progressText(job)}, ${amount(read, 'version')} read, ${amount(sum('hits'), 'hit')}`;
}
