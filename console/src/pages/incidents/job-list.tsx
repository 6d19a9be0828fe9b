import { type Job, listJobs } from '../../api/incidents-api.ts';
import { toHref } from '../../router.ts';
import { formatNumber } from '../../text/format.ts';
import { ActorName, Badge, Time } from '../../ui/inline.tsx';
import { LoadPages } from '../../ui/load.tsx';
import { LostNotice } from '../../ui/lost.tsx';
import { Name } from '../../ui/name.tsx';
import { Empty } from '../../ui/status-messages.tsx';
import { Table } from '../../ui/table.tsx';
import { usePages } from '../../ui/use-pages.ts';
import { describeTenants, jobTitle, resultText } from './incident-texts.ts';
import { isActive } from './use-job.ts';

const INTERVAL_MS = 2000;
const MIN_WIDTH = 760;

/** Lists the jobs from the last 30 days, newest first. Active jobs show their progress. */
export function JobList() {
  const pages = usePages(
    'jobs',
    (after, signal) => listJobs(after, signal),
    [],
    'jobs',
    (data) => data?.pages.some(({ jobs }) => jobs.some(isActive)) === true && INTERVAL_MS,
  );
  return (
    <>
      <LostNotice lost={pages.lost} what="Active jobs go on in the service." />
      <LoadPages of={pages} what="jobs" empty={<NoJobs />} more="Show older jobs">
        {(jobs) => (
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
                <td data-title="Result">{resultText(job)}</td>
                <td data-title="Started" class="muted">
                  <span class="fact">
                    <Time value={job.created_at} isAge /> by <ActorName actor={job.created_by} />
                  </span>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </LoadPages>
    </>
  );
}

const NoJobs = () => (
  <Empty title="No jobs in the last 30 days">
    <p>A find reads every tenant in the background. Its results stay here for 30 days.</p>
  </Empty>
);

export function StateBadge({ job }: { job: Job }) {
  const kind = job.state === 'cancelled' ? 'bad' : job.state === 'done' ? 'good' : 'neutral';
  return <Badge kind={kind}>{job.state}</Badge>;
}
