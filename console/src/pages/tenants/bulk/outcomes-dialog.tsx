import type { ComponentChildren } from 'preact';
import { csvRow } from '../../../text/csv.ts';
import { count } from '../../../text/format.ts';
import { Button } from '../../../ui/button.tsx';
import { DialogEnd } from '../../../ui/dialog.tsx';
import { Modal } from '../../../ui/modal.tsx';
import { save } from '../../../ui/save.ts';
import { ErrorText } from '../../../ui/status-messages.tsx';
import { WorkProgress } from '../../../ui/work-progress.tsx';
import type { Outcome } from './bulk-run.ts';

interface Props {
  /** The action's verb in the past tense. */
  done: string;
  outcomes: readonly Outcome[];
  results: ComponentChildren;
  /** Reason for which the action stopped by itself, or null. */
  interruption: string | null;
  /** Error from the last attempt. */
  error: string | null;
  /** Progress during a further attempt. */
  progress: { what: string; fraction: number | null } | undefined;
  /** Starts the action again for the tenants that are not done; undefined if all are done. */
  onContinue: (() => void) | undefined;
  onStop: () => void;
  onClose: () => void;
}

const SHOWN = 100;

/** Shows an action's result for each tenant, the failures first. */
export function OutcomesDialog(props: Props) {
  const { done, outcomes, results, interruption, error, progress, onContinue, onStop, onClose } = props;
  const countResult = (result: Outcome['result']) => outcomes.filter((each) => each.result === result).length;
  const failed = outcomes.filter(({ result }) => result === 'failed');
  const [skipped, stopped] = [countResult('skipped'), countResult('stopped')];
  const isRunning = progress !== undefined;
  return (
    <Modal
      title={`${done} ${count(countResult('done'), 'tenant')}.`}
      isWide={results !== undefined}
      onClose={isRunning ? onStop : onClose}
    >
      <div class="dialog-body">
        {!isRunning && results}
        {failed.length > 0 && <p>{count(failed.length, 'tenant')} failed.</p>}
        {skipped > 0 && <p>{count(skipped, 'tenant')} needed no change.</p>}
        {stopped > 0 && (
          <p>
            {count(stopped, 'tenant')} not started, because {interruption === null ? 'you' : 'the action'}{' '}
            stopped. {interruption}
          </p>
        )}
        {failed.length > 0 && (
          <ul class="bullets small">
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
      </div>
      <DialogEnd>
        <ErrorText message={error} />
        {progress && <WorkProgress {...progress} />}
        <footer>
          <Button
            icon="download"
            text="Outcomes as CSV"
            onClick={() => save(outcomesCsv(outcomes), 'outcomes.csv')}
          />
          {onContinue && (
            <button type="button" disabled={isRunning} onClick={onContinue}>
              {stopped > 0
                ? `Continue with ${count(failed.length + stopped, 'tenant')}`
                : `Try ${count(failed.length, 'tenant')} again`}
            </button>
          )}
          {isRunning ? (
            <Button text="Cancel" onClick={onStop} />
          ) : (
            <Button text="Done" class="primary" onClick={onClose} />
          )}
        </footer>
      </DialogEnd>
    </Modal>
  );
}

const outcomesCsv = (outcomes: readonly Outcome[]) =>
  new Blob([
    csvRow(['tenant', 'result', 'reason']),
    ...outcomes.map(({ target: { id }, result, reason }) => csvRow([id, result, reason])),
  ]);
