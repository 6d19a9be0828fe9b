import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiRequest } from '../../api/api-client.ts';
import { type Job, type KeptOut, undoRequest } from '../../api/incidents-api.ts';
import { canManage, canWrite, onlyTenants } from '../../api/session-state.ts';
import { toHref } from '../../router.ts';
import { count } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { type Choice, chosenSelection, chosenSum, chosenTenants, wholeChosenSelection } from './choice.ts';
import { EraseDialog } from './erase-dialog.tsx';
import { MAX_NAMED } from './form-input.ts';
import {
  actorFields,
  actorQuery,
  changesText,
  erasedText,
  foundText,
  isEverywhere,
  leftText,
  storedRequest,
} from './incident-texts.ts';
import { JobButton } from './job-button.tsx';
import { KeepOutDialog, placesFor } from './keep-out-dialog.tsx';
import { KeyName } from './key-name.tsx';
import { Receipts } from './receipt-list.tsx';
import { RevokeDialog } from './revoke-dialog.tsx';
import { keptText } from './state.ts';
import { isEnded, isTrial, readSteps, STEPS, type StepName, type Undoing } from './steps.ts';
import { UndoDialog } from './undo-dialog.tsx';
import { type Incident, incidentLabel } from './use-incident.ts';
import { isActive } from './use-job.ts';
import { VerifyDialog } from './verify-dialog.tsx';

interface Props {
  incident: Incident;
  /** The shown job's ID. */
  current: string;
  /** Chosen tenants with an outcome in the first job. */
  choice: Choice;
  /** Actor to undo. An empty text opens the dialog without an actor; null closes it. */
  undoing: string | null;
  onUndo: (by: string | null) => void;
  onChange: () => void;
}

/** Shows an incident's steps, each with its work or its result, and its action. */
export function Checklist({ incident, current, choice, undoing, onUndo, onChange }: Props) {
  const { root, keys, keptOut, revocations } = incident;
  const { undoings, drafts, erasure, verification, states } = readSteps(incident);
  const [dialog, setDialog] = useState<'revoke' | 'erase' | 'keep-out' | 'verify' | null>(null);
  const close = () => setDialog(null);
  const chosen = chosenTenants(choice, incident.tenants);
  const where = count(chosen, 'tenant');
  const request = storedRequest(root);
  const isLiteral = root.kind === 'erase' || request.mode === 'literal';
  const tooMany = Object.keys(choice.tenants).length > MAX_NAMED;
  const isDisabled = chosen === 0 || tooMany;
  const mayAct = canWrite.value && !isActive(root);
  const text = keptText(root.id);
  const hits = count(chosenSum(choice, 'hits', root.counts.hits ?? 0), 'hit');
  const isComplete = root.state === 'done' && (root.kind === 'erase' || isEverywhere(request));
  const undo = (by: string, since: string) =>
    undoRequest({ ...actorQuery(by), since, tenants: chosenSelection(choice, root.id), incident: root.id });
  const bodies: Record<StepName, ComponentChildren> = {
    revoke: (
      <>
        {keys.map((key) => (
          <p key={key.id} class="step-line">
            {key.revoked_at !== null ? 'Revoked' : isEnded(key) ? 'Expired:' : 'Will revoke'}{' '}
            <KeyName apiKey={key} />{' '}
            {key.revoked_at !== null ? (
              <Done at={key.revoked_at} by={revocations.find((event) => event.key === key.id)?.actor} />
            ) : (
              key.last_used_at && (
                <span class="muted">
                  last used <Time value={key.last_used_at} isAge />
                </span>
              )
            )}
          </p>
        ))}
        {canManage.value && states.revoke === 'open' && (
          <Button text="Revoke…" onClick={() => setDialog('revoke')} />
        )}
      </>
    ),
    undo: (
      <>
        {undoings.map((each) => (
          <UndoLine
            key={each.name}
            undoing={each}
            where={where}
            current={current}
            undo={mayAct ? undo : null}
          />
        ))}
        {mayAct && (
          <Button text="Undo the changes by an actor…" disabled={isDisabled} onClick={() => onUndo('')} />
        )}
      </>
    ),
    drafts: (
      <p class="step-line">
        {count(drafts, 'place')} in <a href={toHref(['drafts'])}>open drafts</a> can bring the text or the
        changes back with a merge. Reject or edit these drafts. An erasure edits drafts too.
      </p>
    ),
    erase: (
      <>
        {erasure === undefined ? (
          <p class="step-line">
            Will erase {isActive(root) ? 'the hits' : `${hits} in ${where}`}: replaces the text, and redacts
            versions.
          </p>
        ) : (
          <Result verb="Erase" job={erasure} current={current}>
            {erasedText(erasure)}. {leftText(erasure.counts)}
          </Result>
        )}
        {mayAct && isLiteral && states.erase !== 'running' && (
          <Button
            text="Erase this text…"
            class="danger-quiet"
            disabled={isDisabled}
            onClick={() => setDialog('erase')}
          />
        )}
      </>
    ),
    'keep-out': (
      <>
        {keptOut.map((entry: KeptOut) => (
          <p key={entry.id} class="step-line">
            Kept out as <Name text={entry.label} /> <Done at={entry.created_at} by={entry.created_by} />
          </p>
        ))}
        {keptOut.length === 0 && (
          <p class="step-line">
            {states['keep-out'] === 'done'
              ? 'The erasure keeps the text out of new writes.'
              : 'Will reject or mask the text in new writes, in any case, spacing, and grouping of digits.'}
          </p>
        )}
        {mayAct && isLiteral && states['keep-out'] === 'open' && (
          <Button text="Keep out…" disabled={tooMany} onClick={() => setDialog('keep-out')} />
        )}
      </>
    ),
    verify: (
      <>
        {verification === undefined ? (
          <p class="step-line">Will find the text again in the same tenants.</p>
        ) : (
          <Result verb="Find again" job={verification} current={current}>
            {foundText(verification)}.
          </Result>
        )}
        {mayAct && states.verify !== 'running' && (
          <Button text="Find again…" onClick={() => setDialog('verify')} />
        )}
      </>
    ),
    receipt:
      erasure && !isActive(erasure) && onlyTenants.value === null ? (
        <Receipts job={erasure.id} />
      ) : (
        <p class="step-line">The erasure signs a receipt, for keys that see all tenants.</p>
      ),
  };
  const names = (Object.keys(STEPS) as StepName[]).filter(
    (name) => states[name] !== 'none' || name === 'undo',
  );
  const done = names.filter((name) => states[name] === 'done').length;
  return (
    <section class="card checklist" aria-label="Steps">
      <div class="cluster">
        <h2>Steps</h2>
        <span class="muted small">
          {done} of {names.length} done
        </span>
        <progress aria-label="Steps done" value={done} max={names.length} />
        {tooMany && <span class="small">Unselect at most 1,000 tenants, or select at most 1,000.</span>}
      </div>
      <ol>
        {names.map((name) => (
          <li key={name} class={`step ${states[name]}`}>
            <span class="step-mark">
              {states[name] === 'done' && <Icon name="check" />}
              {states[name] === 'running' && <Icon name="clock" />}
              <span class="visually-hidden">{states[name]}</span>
            </span>
            <h3>{STEPS[name]}</h3>
            <div class="cluster step-body">{bodies[name]}</div>
          </li>
        ))}
      </ol>
      {undoing !== null && (
        <UndoDialog
          fields={{ ...(undoing ? { actor: undoing } : actorFields(request.by)), since: request.since ?? '' }}
          tenants={chosenSelection(choice, root.id)}
          where={where}
          incident={root.id}
          onClose={() => onUndo(null)}
        />
      )}
      {dialog === 'revoke' && (
        <RevokeDialog keys={keys.filter((key) => !isEnded(key))} onClose={close} onDone={onChange} />
      )}
      {dialog === 'erase' && (
        <EraseDialog
          text={text}
          comparison={{ exact: request.isExact ?? false, ignore_case: request.ignoresCase ?? false }}
          tenants={wholeChosenSelection(choice, root)}
          reads={count(chosenTenants(choice, root.tenants), 'tenant')}
          places={isComplete ? `${root.is_exact ? '' : 'at least '}${hits} in ${where}` : undefined}
          incident={root.id}
          onClose={close}
        />
      )}
      {dialog === 'keep-out' && (
        <KeepOutDialog
          text={text}
          label={incidentLabel(root.id)}
          places={placesFor(root.id, choice, chosen)}
          onClose={close}
          onDone={onChange}
        />
      )}
      {dialog === 'verify' && <VerifyDialog root={root} onClose={close} />}
    </section>
  );
}

/** Time and actor for a step that is done. */
function Done({ at, by }: { at: string; by: Job['created_by'] | undefined }) {
  return (
    <span class="muted">
      <Time value={at} isAge />
      {by !== undefined && (
        <>
          {' '}
          by <ActorName actor={by} />
        </>
      )}
    </span>
  );
}

interface ResultProps {
  verb: string;
  job: Job;
  current: string;
  /** The job's counts in words. */
  children: ComponentChildren;
}

/** A job's result: who ran it and when, its counts, and a link to its results by tenant. */
function Result({ verb, job, current, children }: ResultProps) {
  return (
    <p class="step-line">
      {verb} {isActive(job) && '(running) '}
      <Done at={job.ended_at ?? job.created_at} by={job.created_by} />: {children}{' '}
      {job.id === current ? (
        <span class="muted">Shown below.</span>
      ) : (
        <a href={toHref(['incidents', job.id])}>Results by tenant</a>
      )}
    </p>
  );
}

interface UndoLineProps {
  undoing: Undoing;
  where: string;
  current: string;
  /** Returns the request for a dry run. Null if the user may start none. */
  undo: ((by: string, since: string) => ApiRequest) | null;
}

function UndoLine({ undoing: { by, name, found, job }, where, current, undo }: UndoLineProps) {
  if (job !== undefined) {
    const { conflicts = 0 } = job.counts;
    return (
      <Result verb={`${isTrial(job) ? 'Dry run: undo' : 'Undo'} ${name}`} job={job} current={current}>
        {changesText(job.counts)}
        {conflicts > 0 && `, ${count(conflicts, 'conflict')} left`}.
      </Result>
    );
  }
  const sum = (name: 'files' | 'hits') => found.reduce((total, each) => total + each[name], 0);
  const since = found.map((each) => each.since).sort()[0] ?? '';
  return (
    <div class="step-line cluster step-action">
      <p>
        Will undo the changes by <Name text={name} /> since <Time value={since} /> in {where}: wrote the text
        first in {count(sum('files'), 'file')}, {count(sum('hits'), 'hit')}.
      </p>
      {undo !== null && by !== null && (
        <JobButton request={undo(by, since)}>
          Dry run<span class="visually-hidden"> {name}</span>
        </JobButton>
      )}
    </div>
  );
}
