import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiRequest } from '../../../api/client.ts';
import { count, formatNumber } from '../../../text/format.ts';
import { FormDialog } from '../../../ui/dialog.tsx';
import { toast } from '../../../ui/toasts.ts';
import { useAction } from '../../../ui/use-load.ts';
import { OutcomesDialog } from './outcomes-dialog.tsx';
import { type Outcome, type Run, runForEach } from './run.ts';
import type { Target, Targets } from './targets.ts';

/** Props that the dialogs of all actions share. */
export interface BulkProps {
  targets: Targets;
  onClose: () => void;
  /** Called after the action, to reload the list. */
  onDone: () => void;
}

interface Props extends BulkProps {
  verb: string;
  /** Replaces the default question, which consists of the verb and the number of tenants. */
  title?: string;
  /** Past tense of the verb. */
  done: string;
  work: Run['work'];
  /** Request for one tenant, which the dialog offers as a command. */
  request?: ((tenant: string) => ApiRequest) | undefined;
  /** The default suits short requests. */
  atOnce?: number;
  isDangerous?: boolean;
  isReady?: boolean;
  hasInput?: boolean;
  isWide?: boolean;
  /** Whether the action must have exactly the tenants that the dialog has counted. */
  isExact?: boolean;
  /** Called before the outcomes are shown, unless the user stopped the action. */
  finish?: () => Promise<void>;
  /** Shown with the outcomes. With results, the dialog also stays open when each tenant is done. */
  results?: (outcomes: readonly Outcome[]) => ComponentChildren;
  children: ComponentChildren;
}

const AT_ONCE = 4;

/** Asks before an action on several tenants, runs it with its progress, and shows the tenants that failed. */
export function BulkDialog(props: Props) {
  const { targets, onClose, onDone, verb, title, done, work, request, atOnce = AT_ONCE, children } = props;
  const { isExact = false, finish, results, ...dialog } = props;
  const [progress, setProgress] = useState<{ what: string; fraction: number | null }>();
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>();
  const controller = useRef(new AbortController());
  useEffect(() => () => controller.current.abort(), []);
  const action = useAction();
  const what = count(targets.count, 'tenant');

  const runFor = async (read: () => Promise<readonly Target[]>) => {
    const { signal } = controller.current;
    const chosen = await read();
    if (isExact && chosen.length !== targets.count)
      throw new Error(
        `The filter now matches ${count(chosen.length, 'tenant')}, not ${targets.count}. Select them again.`,
      );
    const onProgress = (finished: number) =>
      setProgress({
        what: `${formatNumber(finished)} of ${count(chosen.length, 'tenant')}`,
        fraction: finished / chosen.length,
      });
    onProgress(0);
    const newOutcomes = await runForEach({ targets: chosen, work, atOnce, onProgress, signal });
    if (!signal.aborted) await finish?.();
    const all = [...(outcomes ?? []).filter(({ result }) => result !== 'failed'), ...newOutcomes];
    const isComplete = all.every(({ result }) => result === 'done' || result === 'skipped');
    if (!isComplete || results !== undefined) return setOutcomes(all);
    toast(`${done} ${count(all.filter(({ result }) => result === 'done').length, 'tenant')}.`);
    onClose();
    onDone();
  };
  const run = () =>
    action.run(() =>
      runFor(() =>
        targets.read(
          (read) =>
            setProgress({
              what: `Listing: ${formatNumber(read)} of ${what}`,
              fraction: read / targets.count,
            }),
          controller.current.signal,
        ),
      ),
    );
  if (outcomes !== undefined) {
    const failed = outcomes.filter(({ result }) => result === 'failed').map(({ target }) => target);
    return (
      <OutcomesDialog
        done={done}
        outcomes={outcomes}
        results={results?.(outcomes)}
        progress={action.isRunning ? progress : undefined}
        onRetry={failed.length === 0 ? undefined : () => action.run(() => runFor(async () => failed))}
        onClose={() => {
          onClose();
          onDone();
        }}
      />
    );
  }
  return (
    <FormDialog
      {...dialog}
      request={request && requestsFor(targets, request)}
      title={title ?? `${verb} ${what}?`}
      hasInput={(props.hasInput ?? false) && !action.isRunning}
      {...(progress === undefined ? {} : { doing: progress.what, fraction: progress.fraction })}
      action={action}
      onClose={() => (action.isRunning ? controller.current.abort() : onClose())}
      onSubmit={run}
    >
      {children}
      <Examples targets={targets} />
    </FormDialog>
  );
}

/** Maximum number of tenants with a command each. */
const MAX_COMMANDS = 200;

function requestsFor({ isAllMatching, examples }: Targets, request: (tenant: string) => ApiRequest) {
  if (isAllMatching || examples.length === 0 || examples.length > MAX_COMMANDS) return undefined;
  return examples.map(({ id }) => request(id));
}

const SHOWN = 10;

function Examples({ targets }: { targets: Targets }) {
  const shown = targets.examples.slice(0, SHOWN);
  return (
    <ul class="bulk-list small">
      {shown.map(({ id }) => (
        <li key={id}>{id}</li>
      ))}
      {targets.count > shown.length && (
        <li class="muted">and {formatNumber(targets.count - shown.length)} more</li>
      )}
    </ul>
  );
}
