import { type Job, listJobs } from '../../api/incidents-api.ts';
import { toHref } from '../../router.ts';
import { count, formatNumber } from '../../text/format.ts';
import { ActorName, Badge, Time } from '../../ui/inline.tsx';
import { LostNotice } from '../../ui/lost.tsx';
import { MoreButton } from '../../ui/more-button.tsx';
import { Name } from '../../ui/name.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { Table } from '../../ui/table.tsx';
import { usePages } from '../../ui/use-pages.ts';
import {
  changesText,
  describeTenants,
  erasedText,
  foundText,
  jobTitle,
  storedRequest,
} from './incident-texts.ts';
import { isActive } from './use-job.ts';

const INTERVAL_MS = 2000;
const MIN_WIDTH = 760;

/** Lists the jobs from the last 30 days, newest first. Active jobs show their progress. */
export function JobList() {
  const pages = usePages<Job>(
    async (after, signal) => {
      const { jobs, next } = await listJobs(after, signal);
      return { items: jobs, next };
    },
    [],
    'jobs',
    (data) => data?.pages.some(({ items }) => items.some(isActive)) === true && INTERVAL_MS,
  );
  const { items: jobs, lost } = pages;
  if (pages.error !== undefined) return <LoadError error={pages.error} onRetry={pages.reload} />;
  if (jobs === undefined) return <Loading what="jobs" />;
  if (jobs.length === 0)
    return (
      <Empty title="No jobs in the last 30 days">
        <p>A find reads every tenant in the background. Its results stay here for 30 days.</p>
      </Empty>
    );
  return (
    <>
      <LostNotice lost={lost} what="Active jobs go on in the service." />
      <Table class="jobs" minWidth={MIN_WIDTH} columns={['Job', 'State', 'Tenants', 'Result', 'Started']}>
        {jobs.map((job) => (
          <tr key={job.id}>
            <th scope="row">
              <a class="name-link" href={toHref(['incidents', job.id])}>
                <Name text={jobTitle(job)} />
              </a>
              <span class="about muted small">
                <Name text={describeTenants(job)} />
              </span>
            </th>
            <td data-title="State">{job.state !== 'done' && <StateBadge job={job} />}</td>
            <td data-title="Tenants">
              {isActive(job)
                ? `${formatNumber(job.tenants_done)} of ${formatNumber(job.tenants)}`
                : formatNumber(job.tenants_done)}
            </td>
            <td data-title="Result">{jobResult(job)}</td>
            <td data-title="Started" class="muted">
              <span class="fact">
                <Time value={job.created_at} isAge /> by <ActorName actor={job.created_by} />
              </span>
            </td>
          </tr>
        ))}
      </Table>
      <MoreButton pages={pages}>Show older jobs</MoreButton>
    </>
  );
}

export function StateBadge({ job }: { job: Job }) {
  const kind = job.state === 'cancelled' ? 'bad' : job.state === 'done' ? 'good' : 'neutral';
  return <Badge kind={kind}>{job.state}</Badge>;
}

function jobResult(job: Job): string {
  const { counts, kind } = job;
  if (kind === 'find') return foundText(job, !isActive(job));
  if (kind === 'erase') return erasedText(job, !isActive(job));
  const conflicts = counts.conflicts ?? 0;
  const verb = storedRequest(job).isDryRun ? 'will change ' : 'changed ';
  return `${verb}${changesText(counts)}${conflicts > 0 ? `, ${count(conflicts, 'conflict')}` : ''}`;
}
