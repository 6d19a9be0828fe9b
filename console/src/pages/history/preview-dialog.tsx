import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, type ApiRequest, sendJson, sendRequest } from '../../api/api-client.ts';
import type { Changes } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useAction, useLoad } from '../../ui/use-load.ts';
import { ChangesPreview, changeAmount, hasChanges } from './changes-preview.tsx';
import type { RevertReview } from './revert-conflict.tsx';
import { StalePreview } from './stale-preview.tsx';
import { changeWarnings, createUndo } from './undo-changes.ts';

interface Props {
  tenant: string;
  title: string;
  verb: string;
  /** Progress verb, such as `Restoring`. */
  doing: string;
  /** Returns the request that applies a plan, or the request for the preview. */
  request: (plan?: string) => ApiRequest;
  /** The change without its resolutions. While it stays the same, the last preview stays visible. */
  target: object;
  review?: RevertReview;
  opensConflict?: boolean | undefined;
  /** The message's first words, such as `Restored /memories/a.md`. */
  done: string;
  children: ComponentChildren;
  onDone?: (() => void) | undefined;
  onClose: () => void;
}

/**
 * Previews a change, then applies exactly the previewed change. If the memory changed in between, loads a new preview.
 */
export function PreviewDialog({ tenant, request, doing, done, children, onDone, onClose, ...props }: Props) {
  const action = useAction();
  const input = JSON.stringify(request());
  const subject = JSON.stringify(props.target);
  const debounced = useDebounced(input, 300);
  const [rejected, setRejected] = useState<{ changes: Changes; input: string } | null>(null);
  const { data, error, isLoading, reload } = useLoad(
    async (signal) => {
      const { path, ...options }: ApiRequest = JSON.parse(debounced);
      return { changes: await sendJson<Changes>(path, { ...options, signal }), subject };
    },
    [debounced],
  );
  const changes = data?.changes;
  const apply = () =>
    action.run(async () => {
      if (changes === undefined) return;
      try {
        const made = await sendRequest<Changes>(request(changes.plan));
        noteChange();
        toast(`${changeWarnings(made)}${done}: ${made.summary}.`, createUndo(tenant, made));
        onDone?.();
        onClose();
      } catch (cause) {
        if (!(cause instanceof ApiError) || cause.status !== 412) throw cause;
        setRejected({ changes, input });
        void reload();
      }
    });
  const isShown = !isLoading || data?.subject === subject;
  const isReady = changes !== undefined && !isLoading && input === debounced && hasChanges(changes);
  return (
    <FormDialog
      title={props.title}
      verb={props.verb}
      isWide
      doing={`${doing} ${changeAmount(changes)}`}
      action={action}
      isReady={isReady}
      onClose={onClose}
      request={changes && request(changes.plan)}
      onSubmit={apply}
    >
      {children}
      {error !== undefined && <LoadError error={error} />}
      {!isShown && <Loading what="the preview" />}
      {rejected?.input === input && changes && !isLoading && (
        <StalePreview tenant={tenant} before={rejected.changes} after={changes} />
      )}
      {changes && isShown && (
        <ChangesPreview
          key={subject}
          tenant={tenant}
          changes={changes}
          review={props.review}
          opensConflict={props.opensConflict}
        />
      )}
    </FormDialog>
  );
}
