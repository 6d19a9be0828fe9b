import { useState } from 'preact/hooks';
import type { Job } from '../../api/incidents-api.ts';
import { count } from '../../text/format.ts';
import { Icon } from '../../ui/icon.tsx';
import {
  type Choice,
  chosenSelection,
  chosenSum,
  chosenTenants,
  readTenants,
  wholeChosenSelection,
} from './choice.ts';
import { EraseDialog } from './erase-dialog.tsx';
import { MAX_NAMED } from './form-input.ts';
import { actorFields, isEverywhere, storedRequest } from './incident-texts.ts';
import { KeepOutDialog } from './keep-out-dialog.tsx';
import { keptText } from './state.ts';
import { UndoDialog } from './undo-dialog.tsx';

interface Props {
  job: Job;
  choice: Choice;
  /** Number of tenants with hits. */
  total: number;
  /** Actor to undo. An empty text opens the dialog without an actor; null closes it. */
  undoing: string | null;
  onUndo: (by: string | null) => void;
}

/** Actions on the tenants with hits: undo an actor's changes, erase the text, and keep the text out. */
export function FoundActions({ job, choice, total, undoing, onUndo }: Props) {
  const [dialog, setDialog] = useState<'erase' | 'keep-out' | null>(null);
  const chosen = chosenTenants(choice, total);
  const hits = chosenSum(choice, 'hits', job.counts.hits ?? 0);
  const request = storedRequest(job);
  const isLiteral = job.kind === 'erase' || request.mode === 'literal';
  const isComplete = job.state === 'done' && (job.kind === 'erase' || isEverywhere(request));
  const where = count(chosen, 'tenant');
  const tooMany = Object.keys(choice.tenants).length > MAX_NAMED;
  const isDisabled = chosen === 0 || tooMany;
  const text = keptText(job.id);
  const bound = job.is_exact ? '' : 'at least ';
  const fields = undoing ? { actor: undoing } : actorFields(request.by);
  const close = () => setDialog(null);
  return (
    <>
      <section class="bulk" aria-label="Actions">
        <strong>{where} selected</strong>
        <button type="button" disabled={isDisabled} onClick={() => onUndo('')}>
          <Icon name="restore" /> Undo the changes by an actor…
        </button>
        {isLiteral && (
          <button type="button" class="danger-quiet" disabled={isDisabled} onClick={() => setDialog('erase')}>
            Erase this text…
          </button>
        )}
        {isLiteral && (
          <button type="button" disabled={isDisabled} onClick={() => setDialog('keep-out')}>
            Keep out…
          </button>
        )}
        {tooMany && <span class="small">Unselect at most 1,000 tenants, or select at most 1,000.</span>}
      </section>
      {undoing !== null && (
        <UndoDialog
          fields={{ ...fields, since: request.since ?? '' }}
          tenants={chosenSelection(choice, job.id)}
          where={where}
          onClose={() => onUndo(null)}
        />
      )}
      {dialog === 'erase' && (
        <EraseDialog
          text={text}
          comparison={{ exact: request.isExact ?? false, ignore_case: request.ignoresCase ?? false }}
          tenants={wholeChosenSelection(choice, job)}
          reads={count(readTenants(choice, job), 'tenant')}
          places={isComplete ? `${bound}${count(hits, 'hit')} in ${where}` : undefined}
          onClose={close}
        />
      )}
      {dialog === 'keep-out' && (
        <KeepOutDialog text={text} job={job.id} choice={choice} chosen={chosen} onClose={close} />
      )}
    </>
  );
}
