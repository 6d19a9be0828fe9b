import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiRequest } from '../../../api/api-client.ts';
import { canWrite } from '../../../api/session-state.ts';
import { count, formatNumber } from '../../../text/format.ts';
import { confirm, LEAVE, type Question } from '../../../ui/confirm.tsx';
import { FormDialog } from '../../../ui/dialog.tsx';
import { Name } from '../../../ui/name.tsx';
import { toast } from '../../../ui/toasts.ts';
import { mayDiscard, useUnsaved } from '../../../ui/unsaved.ts';
import { useAction } from '../../../ui/use-load.ts';
import { isOver, type Outcome, type Run, runForEach } from './bulk-run.ts';
import { OutcomesDialog } from './outcomes-dialog.tsx';
import type { Target, Targets } from './targets.ts';

/** Props that the dialogs for all actions share. */
export interface BulkProps {
  targets: Targets;
  onClose: () => void;
  /** Called after the action, to reload the list. */
  onDone: () => void;
}

interface Props extends BulkProps {
  verb: string;
  /** Replaces the default question, which contains the verb and the number of tenants. */
  title?: string;
  /** The verb's past tense. */
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
  /** Asked with the tenants before the action, for example about those that it would change most. Null starts the action at once. */
  question?: ((targets: readonly Target[]) => Question | null) | undefined;
  /** Shown with the outcomes. With results, the dialog also stays open when each tenant is done. */
  results?: (outcomes: readonly Outcome[]) => ComponentChildren;
  /** Undoes the action in the tenants that are done. */
  undo?: () => Promise<void>;
  /** Starts the action when the dialog opens, without a question. */
  startsImmediately?: boolean;
  /** Replaces the list of the first tenants. */
  examples?: ComponentChildren;
  /** Whether there are results that the user has not saved, and the question before they are lost. */
  unsaved?: { is: () => boolean; question: Question };
  children: ComponentChildren;
}

const MAX_CONCURRENT = 4;

const STOP = {
  ...LEAVE,
  title: 'Stop the action?',
  text: 'It runs in this tab. Tenants that are done stay changed. The list of outcomes is lost.',
  verb: 'Stop and leave',
};

/**
 * Asks before an action on several tenants, runs it with its progress, and shows the tenants that failed. When the session
 * ends, the dialog is hidden until the next sign-in.
 */
export function BulkDialog(props: Props) {
  const {
    targets,
    onClose,
    onDone,
    verb,
    title,
    done,
    work,
    request,
    atOnce = MAX_CONCURRENT,
    children,
  } = props;
  const { isExact = false, results, unsaved, question, undo, startsImmediately, examples, ...dialog } = props;
  const [progress, setProgress] = useState<{ what: string; fraction: number | null }>();
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>();
  const [interruption, setInterruption] = useState<string | null>(null);
  const controller = useRef(new AbortController());
  useEffect(() => () => controller.current.abort(), []);
  const action = useAction();
  useUnsaved(action.isRunning, STOP);
  useUnsaved(!action.isRunning && unsaved !== undefined && unsaved.is(), unsaved?.question);
  const what = count(targets.count, 'tenant');

  /** @param read returns null if the user does not want the action */
  const run = (read: (signal: AbortSignal) => Promise<readonly Target[] | null>) =>
    action.run(async () => {
      controller.current = new AbortController();
      const { signal } = controller.current;
      const chosen = await read(signal);
      if (chosen === null) return setProgress(undefined);
      const onProgress = (finished: number, waiting: number) =>
        setProgress({
          what: `${formatNumber(finished)} of ${count(chosen.length, 'tenant')}${waiting > 0 ? ', waiting for the service' : ''}`,
          fraction: finished / chosen.length,
        });
      onProgress(0, 0);
      const result = await runForEach({ targets: chosen, work, atOnce, onProgress, signal });
      const all = [...(outcomes ?? []).filter(isOver), ...result.outcomes];
      setInterruption(result.interruption);
      if (!all.every(isOver) || results !== undefined) return setOutcomes(all);
      finish(all);
    });
  const finish = (all: readonly Outcome[]) => {
    const changed = all.filter((each) => each.result === 'done').length;
    toast(`${done} ${count(changed, 'tenant')}.`, changed > 0 ? undo : undefined);
    onClose();
    onDone();
  };
  const start = async (signal: AbortSignal) => {
    const onRead = (read: number) =>
      setProgress({ what: `Listing: ${formatNumber(read)} of ${what}`, fraction: read / targets.count });
    const chosen = await targets.read(onRead, signal);
    if (isExact && chosen.length !== targets.count)
      throw new Error(
        `The filter now matches ${count(chosen.length, 'tenant')}, not ${targets.count}. Select them again.`,
      );
    const asked = question?.(chosen) ?? null;
    return asked === null || (await confirm(asked)) ? chosen : null;
  };
  const stop = () => controller.current.abort();
  useEffect(() => {
    if (startsImmediately) void run(start);
  }, []);
  // Also hides new keys from another admin who signs in and may only read.
  if (!canWrite.value) return null;
  if (outcomes !== undefined) {
    const rest = outcomes.filter((each) => !isOver(each)).map(({ target }) => target);
    return (
      <OutcomesDialog
        done={done}
        outcomes={outcomes}
        interruption={interruption}
        error={action.error}
        results={results?.(outcomes)}
        progress={action.isRunning ? progress : undefined}
        onContinue={rest.length === 0 ? undefined : () => run(async () => rest)}
        onStop={stop}
        onClose={async () => {
          if (!(await mayDiscard())) return;
          if (undo !== undefined) return finish(outcomes);
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
      onClose={() => (action.isRunning ? stop() : onClose())}
      onSubmit={() => run(start)}
    >
      {action.isRunning ? (
        <p>The action runs in this tab: keep the tab open.</p>
      ) : (
        <>
          {children}
          {examples ?? <Examples targets={targets} />}
        </>
      )}
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
    <ul class="bullets small">
      {shown.map(({ id }) => (
        <li key={id}>
          <Name text={id} />
        </li>
      ))}
      {targets.count > shown.length && (
        <li class="muted">and {formatNumber(targets.count - shown.length)} more</li>
      )}
    </ul>
  );
}
