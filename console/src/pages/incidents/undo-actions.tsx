import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import {
  applyRequest,
  type Job,
  type JobOutcome,
  type UndoBody,
  undoRequest,
} from '../../api/incidents-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { count, keptOutText } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/inline.tsx';
import { RevertDialog } from '../history/revert-dialog.tsx';
import { type Choice, chosenSelection, chosenTenants, isEverything } from './choice.ts';
import { actorName, actorQuery, changesText, storedRequest } from './incident-texts.ts';
import { JobButton } from './job-button.tsx';
import { JobDialog } from './job-dialog.tsx';

interface Props {
  job: Job;
  choice: Choice;
  /** Tenants with changes or conflicts. */
  total: number;
}

/** Applies a dry run, repeats it without the unselected tenants, or continues an application with failures. */
export function UndoActions({ job, choice, total }: Props) {
  const [isAsking, setIsAsking] = useState(false);
  const { by, since, until, isDryRun, dryRunOf, incident = job.id } = storedRequest(job);
  const chosen = chosenTenants(choice, total);
  const repeat = (more: Pick<UndoBody, 'take_all'> = {}) => {
    const tenants = chosenSelection(choice, job.id);
    const changes = { since: since ?? '', ...(until ? { until } : {}), tenants, incident, ...more };
    return undoRequest(by ? { ...actorQuery(by), ...changes } : changes);
  };
  if (!isDryRun && (dryRunOf == null || job.tenants_failed === 0)) return null;
  const { files = 0, directories = 0, conflicts = 0, kept_out = 0 } = job.counts;
  const isApplicable = isDryRun && job.state === 'done' && files + directories > 0;
  return (
    <>
      <section class="bulk" aria-label="Actions">
        {isApplicable && isEverything(choice) && (
          <Button
            text={`Undo in ${count(total, 'tenant')}…`}
            class="primary"
            onClick={() => setIsAsking(true)}
          />
        )}
        {isDryRun && !isEverything(choice) && (
          <JobButton class="primary" disabled={chosen === 0} request={repeat()}>
            Repeat the dry run in {count(chosen, 'tenant')}
          </JobButton>
        )}
        {isDryRun && conflicts > 0 && (
          <>
            <span class="small">{count(conflicts, 'conflict')}: repeat the dry run with</span>
            <JobButton request={repeat({ take_all: 'reverted' })}>All reverted</JobButton>
            <JobButton request={repeat({ take_all: 'current' })}>All current</JobButton>
          </>
        )}
        {!isDryRun && dryRunOf != null && (
          <JobButton request={applyRequest(dryRunOf)}>
            Continue with {count(job.tenants_failed, 'failed tenant')}
          </JobButton>
        )}
      </section>
      {isAsking && (
        <JobDialog
          title={`Undo the changes by ${by ? actorName(by) : 'all actors'}?`}
          verb="Undo"
          request={applyRequest(job.id)}
          onClose={() => setIsAsking(false)}
        >
          <p>
            Will change <strong>{changesText(job.counts)}</strong> in {count(total, 'tenant')}, exactly as in
            the dry run. A tenant that has changed since then will stay unchanged.
          </p>
          {kept_out > 0 && <p class="notice warning">{keptOutText(kept_out)}</p>}
          {conflicts > 0 && (
            <p class="notice warning">
              {count(conflicts, 'conflict')} of the dry run {conflicts === 1 ? 'is' : 'are'} left unchanged,
              unless you resolve them in their tenants before or after you undo the changes.
            </p>
          )}
        </JobDialog>
      )}
    </>
  );
}

/** Tenants that were reverted from their rows since the console was loaded, after their jobs. */
const reviewed = signal<ReadonlySet<string>>(new Set());

/** Opens one tenant's revert, with its differences and conflict resolutions. */
export function ReviewButton({ job, outcome }: { job: Job; outcome: JobOutcome }) {
  const [isOpen, setIsOpen] = useState(false);
  const { by, since, until } = storedRequest(job);
  const label = (outcome.counts.conflicts ?? 0) > 0 ? 'Resolve…' : 'Review…';
  const name = `${job.id} ${outcome.tenant}`;
  if (reviewed.value.has(name)) return <Badge kind="good">undone</Badge>;
  if (!canWrite.value || !by || !since) return null;
  return (
    <>
      <Button text={label} onClick={() => setIsOpen(true)} aria-label={`${label} ${outcome.tenant}`} />
      {isOpen && (
        <RevertDialog
          tenant={outcome.tenant}
          actor={actorQuery(by)}
          name={actorName(by)}
          since={since}
          until={until ?? null}
          opensConflict
          onDone={() => {
            reviewed.value = new Set([...reviewed.value, name]);
          }}
          onClose={() => setIsOpen(false)}
        />
      )}
    </>
  );
}
