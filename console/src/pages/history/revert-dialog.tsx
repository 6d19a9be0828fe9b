import { useState } from 'preact/hooks';
import { previewRevert, type RevertTarget, revert } from '../../api/history.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { LoadError, Loading } from '../../ui/messages.tsx';
import { MomentField } from '../../ui/moment-field.tsx';
import { toast } from '../../ui/toasts.ts';
import { useDebounced } from '../../ui/use-debounced.ts';
import { amountOf, ChangesPreview, hasChanges } from './changes-preview.tsx';
import { Overtaken } from './overtaken.tsx';
import { undoOf } from './undo.ts';
import { usePreview } from './use-preview.ts';

interface Props {
  tenant: string;
  /** Actor as the API identifies it; `name` is the displayed name. */
  by: string;
  name: string;
  since: string;
  onClose: () => void;
}

/** Previews the revert of one actor's changes, and applies it on confirmation. */
export function RevertDialog({ tenant, by, name, since: initial, onClose }: Props) {
  const [since, setSince] = useState(initial);
  const [until, setUntil] = useState<string | null>(null);
  const target: RevertTarget = { by, since, ...(until === null ? {} : { until }) };
  const chosen = JSON.stringify(target);
  const settled = useDebounced(chosen, 300);
  const { changes, error, isLoading, overtaken, action, apply } = usePreview({
    load: (signal) => previewRevert(tenant, JSON.parse(settled), signal),
    dependencies: [settled],
    apply: (plan) => revert(tenant, target, plan),
    onDone: (done) => {
      toast(`Reverted the changes of ${name}: ${done.summary}.`, undoOf(tenant, done));
      onClose();
    },
  });
  const isReady = changes !== undefined && !isLoading && chosen === settled && hasChanges(changes);
  return (
    <FormDialog
      title="Revert an actor"
      verb="Revert"
      isWide
      doing={`Reverting ${amountOf(changes)}`}
      action={action}
      isReady={isReady}
      onClose={onClose}
      onSubmit={apply}
    >
      <p>
        This undoes the changes of{' '}
        <strong>
          <bdi>{name}</bdi>
        </strong>{' '}
        only. You can undo the revert.
      </p>
      <div class="revert-times">
        <MomentField
          label="Since"
          value={since}
          isRequired
          onChange={(time) => {
            if (time !== null) setSince(time);
          }}
        />
        <MomentField label="Until" fallback="now" value={until} onChange={setUntil} />
      </div>
      {error !== undefined && <LoadError error={error} />}
      {isLoading && <Loading what="the preview" />}
      {overtaken && changes && !isLoading && <Overtaken tenant={tenant} before={overtaken} after={changes} />}
      {changes && !isLoading && <ChangesPreview key={changes.plan} tenant={tenant} changes={changes} />}
    </FormDialog>
  );
}
