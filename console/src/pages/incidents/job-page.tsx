import { useState } from 'preact/hooks';
import { cancelRequest, type Job, type JobOutcome, sendJob } from '../../api/incidents-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { toHref } from '../../router.ts';
import { count, formatNumber, formatTime, keptOutText } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { ActorName, Badge, Time } from '../../ui/inline.tsx';
import { LostNotice } from '../../ui/lost.tsx';
import { Name } from '../../ui/name.tsx';
import { ErrorText, LoadError, Loading } from '../../ui/status-messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { type Reload, useAction } from '../../ui/use-load.ts';
import { Checklist } from './checklist.tsx';
import { Hits } from './hits.tsx';
import {
  actorName,
  changesText,
  describeFind,
  describeTenants,
  erasedText,
  foundByText,
  foundText,
  jobTitle,
  leftText,
  literalText,
  resultText,
  storedRequest,
} from './incident-texts.ts';
import { JobConflicts } from './job-conflicts.tsx';
import { StateBadge } from './job-list.tsx';
import { OutcomeList } from './outcome-list.tsx';
import { choose, keptChoice } from './state.ts';
import { ReviewButton, UndoActions } from './undo-actions.tsx';
import { useIncident } from './use-incident.ts';
import { isActive, useJob } from './use-job.ts';
import { useOutcomes } from './use-outcomes.ts';

/** Shows a job: its progress, the incident's steps, and the job's results by tenant. */
export function JobPage({ id }: { id: string }) {
  const { data: job, error, lost, reload } = useJob(id);
  if (error !== undefined) return <LoadError error={error} onRetry={reload} />;
  if (job === undefined) return <Loading what="the job" />;
  return (
    <>
      <JobHead job={job} onChange={reload} />
      <LostNotice lost={lost} what="The job goes on in the service." />
      <Results key={id} job={job} />
    </>
  );
}

function JobHead({ job, onChange }: { job: Job; onChange: Reload }) {
  const action = useAction();
  const cancel = () =>
    action.run(async () => {
      await sendJob(cancelRequest(job.id));
      await onChange();
    });
  const { tenants, tenants_done, tenants_failed } = job;
  const active = isActive(job);
  const { dryRunOf } = storedRequest(job);
  const { found_by } = job.selection;
  const { kept_out = 0 } = job.counts;
  return (
    <>
      <div class="page-head job-head">
        <h1>
          <a href={toHref(['incidents'])}>Incident</a> <span aria-hidden="true">/</span>
          <Name text={jobTitle(job)} />
        </h1>
        <StateBadge job={job} />
        <span class="spacer" />
        {active && canWrite.value && (
          <Button text="Cancel the job" disabled={action.isRunning} onClick={cancel} />
        )}
      </div>
      <p class="muted small facts-line job-facts">
        <span>{describeJob(job)}</span>
        <span>
          in <Name text={describeTenants(job)} />
        </span>
        <span>
          started <Time value={job.created_at} /> by <ActorName actor={job.created_by} />
        </span>
        {found_by !== undefined && <a href={toHref(['incidents', found_by])}>Earlier find</a>}
        {dryRunOf && <a href={toHref(['incidents', dryRunOf])}>Dry run</a>}
      </p>
      <ErrorText message={action.error} />
      {active && (
        <div class="work-progress">
          <p class="spread">
            <span role="status">
              {formatNumber(tenants_done)} of {count(tenants, 'tenant')}
              {job.state === 'queued' && ', waiting for a replica'}
            </span>
            <span class="muted small">{resultText(job)}</span>
          </p>
          <progress aria-label="Tenants done" value={tenants_done} max={Math.max(tenants, 1)} />
        </div>
      )}
      {!active &&
        [foundByText(job.selection), leftText(job.counts), kept_out > 0 && keptOutText(kept_out)].map(
          (warning) => warning && <p class="notice warning">{warning}</p>,
        )}
      {!active && (
        <p class="job-result" role="status">
          <strong>{capitalize(resultText(job))}.</strong> Read {count(tenants_done, 'tenant')}
          {tenants_failed > 0 && (
            <>
              , <span class="failures">{formatNumber(tenants_failed)} failed</span>
            </>
          )}
          .{job.state === 'cancelled' && ' The job was cancelled before its end.'}
          {job.state === 'done' &&
            !job.is_exact &&
            job.kind !== 'revert' &&
            foundByText(job.selection) === null && (
              <> Some versions could not be searched, so the counts are a lower bound.</>
            )}
        </p>
      )}
    </>
  );
}

const capitalize = (text: string) => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;

function describeJob(job: Job): string {
  const { by, since, until, keepsOut } = storedRequest(job);
  if (job.kind === 'find') return describeFind(storedRequest(job));
  if (job.kind === 'erase') return `${literalText(storedRequest(job))}${keepsOut ? ', kept out' : ''}`;
  const start = since ? ` since ${formatTime(since)}` : '';
  const end = until ? ` until ${formatTime(until)}` : '';
  return `changes ${by ? `by ${actorName(by)}` : 'by all actors'}${start}${end}`;
}

const EMPTY: Record<Job['kind'], string> = {
  find: 'No hits',
  revert: 'No changes to undo',
  erase: 'The text is in no place',
};

function Results({ job }: { job: Job }) {
  const [search, setSearch] = useState('');
  const debounced = useDebounced(search, 200);
  const active = isActive(job);
  const outcomes = useOutcomes(job, debounced);
  const [undoing, setUndoing] = useState<string | null>(null);
  const choice = keptChoice(job.id);
  const { isDryRun, incident: first = job.id } = storedRequest(job);
  const { incident, lost, reload } = useIncident(first, job);
  const isFound = job.kind === 'find' || (job.kind === 'erase' && isDryRun === true);
  const isUndo = job.kind === 'revert';
  // A search lists only some tenants. The actions apply to all chosen tenants.
  const [total, setTotal] = useState<number>();
  const found = debounced === '' && !outcomes.isLoading ? outcomes.first?.total : total;
  if (found !== total) setTotal(found);
  const canChoose = canWrite.value && !active && (isFound ? first === job.id : isUndo && isDryRun === true);
  return (
    <>
      {!isActive(job) && <LostNotice lost={lost} what="The steps may have changed." />}
      {incident && (
        <Checklist
          incident={incident}
          current={job.id}
          choice={keptChoice(first)}
          undoing={undoing}
          onUndo={setUndoing}
          onChange={reload}
        />
      )}
      {!active && canWrite.value && isUndo && total !== undefined && (
        <UndoActions job={job} choice={choice} total={total} />
      )}
      <OutcomeList
        outcomes={outcomes}
        search={search}
        onSearch={setSearch}
        choice={
          canChoose
            ? { value: choice, total: total ?? 0, onChange: (next) => choose(job.id, next) }
            : undefined
        }
        empty={active ? 'No results yet' : EMPTY[job.kind]}
        describe={(outcome) => describeOutcome(job, outcome)}
        {...(isFound && {
          details: ({ tenant, counts }: JobOutcome) => (
            <Hits job={job.id} tenant={tenant} total={counts.hits ?? 0} onUndo={setUndoing} />
          ),
        })}
        {...(isUndo && {
          below: ({ tenant, counts }: JobOutcome) =>
            (counts.conflicts ?? 0) > 0 && <JobConflicts job={job.id} tenant={tenant} />,
          actions: (outcome: JobOutcome) => <ReviewButton job={job} outcome={outcome} />,
        })}
      />
    </>
  );
}

function describeOutcome({ kind }: Job, { counts, error }: JobOutcome) {
  if (error !== null) return null;
  if (kind === 'find') return foundText({ counts, is_exact: true });
  if (kind === 'erase')
    return [erasedText({ counts, is_exact: true }), leftText(counts)].filter(Boolean).join('. ');
  const { conflicts = 0 } = counts;
  return (
    <>
      {conflicts > 0 && <Badge kind="bad">{count(conflicts, 'conflict')}</Badge>} {changesText(counts)}
    </>
  );
}
