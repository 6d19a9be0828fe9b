import type { ComponentChildren } from 'preact';
import { csvRow } from '../../../text/csv.ts';
import { count } from '../../../text/format.ts';
import { Icon } from '../../../ui/icon.tsx';
import { Modal } from '../../../ui/modal.tsx';
import { save } from '../../../ui/save.ts';
import { WorkProgress } from '../../../ui/work-progress.tsx';
import type { Outcome } from './run.ts';

interface Props {
  /** Past tense of the action. */
  done: string;
  outcomes: readonly Outcome[];
  results: ComponentChildren;
  /** Progress of a second attempt. */
  progress: { what: string; fraction: number | null } | undefined;
  /** Tries the failed tenants again; undefined without a failure. */
  onRetry: (() => void) | undefined;
  onClose: () => void;
}

const SHOWN = 100;

/** Shows the result of an action for each tenant, the failures first. */
export function OutcomesDialog({ done, outcomes, results, progress, onRetry, onClose }: Props) {
  const numberOf = (result: Outcome['result']) => outcomes.filter((each) => each.result === result).length;
  const failed = outcomes.filter(({ result }) => result === 'failed');
  const facts = [
    [numberOf('failed'), 'failed'],
    [numberOf('skipped'), 'needed no change'],
    [numberOf('stopped'), 'not started, because you stopped'],
  ] as const;
  return (
    <Modal
      title={`${done} ${count(numberOf('done'), 'tenant')}.`}
      isWide={results !== undefined}
      onClose={onClose}
    >
      <div class="dialog-body">
        {results}
        {facts.map(([number, text]) =>
          number === 0 ? null : (
            <p key={text}>
              {count(number, 'tenant')} {text}.
            </p>
          ),
        )}
        {failed.length > 0 && (
          <ul class="bulk-list small">
            {failed.slice(0, SHOWN).map(({ target: { id }, reason }) => (
              <li key={id}>
                {id}: {reason}
              </li>
            ))}
            {failed.length > SHOWN && (
              <li class="muted">and {count(failed.length - SHOWN, 'more tenant')}</li>
            )}
          </ul>
        )}
        {progress && <WorkProgress {...progress} />}
      </div>
      <footer>
        <button type="button" onClick={() => save(outcomesCsv(outcomes), 'outcomes.csv')}>
          <Icon name="download" /> Outcomes as CSV
        </button>
        {onRetry && (
          <button type="button" disabled={progress !== undefined} onClick={onRetry}>
            Try {count(failed.length, 'tenant')} again
          </button>
        )}
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Modal>
  );
}

const outcomesCsv = (outcomes: readonly Outcome[]) =>
  new Blob([
    csvRow(['tenant', 'result', 'reason']),
    ...outcomes.map(({ target: { id }, result, reason }) => csvRow([id, result, reason])),
  ]);
