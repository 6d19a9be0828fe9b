import { useRef, useState } from 'preact/hooks';
import type { RevertResolution } from '../../api/api-types.ts';
import {
  type ActorQuery,
  previewRevert,
  type RevertTarget,
  reversion,
  revert,
} from '../../api/history-api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { TimeField } from '../../ui/time-field.tsx';
import { toast } from '../../ui/toasts.ts';
import { useDebounced } from '../../ui/use-debounced.ts';
import { ChangesPreview, changeAmount, hasChanges } from './changes-preview.tsx';
import { StalePreview } from './stale-preview.tsx';
import { changeWarnings, createUndo } from './undo-changes.ts';
import { usePreview } from './use-preview.ts';

interface Props {
  tenant: string;
  actor: ActorQuery;
  /** The actor's displayed name. */
  name: string;
  /** Times at first. `until`: null means now. */
  since: string;
  until?: string | null;
  /** Whether the preview opens its first conflict. */
  opensConflict?: boolean;
  onDone?: () => void;
  onClose: () => void;
}

/** Previews reverting one actor's changes, and reverts the changes on confirmation. */
export function RevertDialog({
  tenant,
  actor,
  name,
  since: initial,
  until: initialEnd = null,
  opensConflict,
  onDone,
  onClose,
}: Props) {
  const [since, setSince] = useState(initial);
  const [until, setUntil] = useState<string | null>(initialEnd);
  const [resolutions, setResolutions] = useState<Record<string, RevertResolution>>({});
  const target: RevertTarget = { ...actor, since, ...(until === null ? {} : { until }) };
  const request = { ...target, resolutions: Object.values(resolutions) };
  const chosen = JSON.stringify(request);
  const debounced = useDebounced(chosen, 300);
  // The preview stays visible while only a resolution changes.
  const shown = useRef('');
  const targetText = JSON.stringify(target);
  const { changes, error, isLoading, stale, action, apply } = usePreview({
    load: async (signal) => {
      const preview = await previewRevert(tenant, JSON.parse(debounced), signal);
      shown.current = targetText;
      return preview;
    },
    dependencies: [debounced],
    apply: (plan) => revert(tenant, request, plan),
    onDone: (done) => {
      toast(
        `${changeWarnings(done)}Reverted the changes of ${name}: ${done.summary}.`,
        createUndo(tenant, done),
      );
      onDone?.();
      onClose();
    },
  });
  const isShown = !isLoading || shown.current === targetText;
  const isReady = changes !== undefined && !isLoading && chosen === debounced && hasChanges(changes);
  return (
    <FormDialog
      title="Revert an actor's changes"
      verb="Revert"
      isWide
      doing={`Reverting ${changeAmount(changes)}`}
      action={action}
      isReady={isReady}
      onClose={onClose}
      request={changes && reversion(tenant, request, changes.plan)}
      onSubmit={apply}
    >
      <p>
        This undoes the changes of{' '}
        <strong>
          <bdi>{name}</bdi>
        </strong>{' '}
        only, and keeps the changes of others. You can undo the revert.
      </p>
      <div class="fields">
        <TimeField
          label="Since"
          value={since}
          isRequired
          onChange={(time) => {
            if (time === null) return;
            setSince(time);
            setResolutions({});
          }}
        />
        <TimeField
          label="Until"
          fallback="now"
          value={until}
          onChange={(time) => {
            setUntil(time);
            setResolutions({});
          }}
        />
      </div>
      {error !== undefined && <LoadError error={error} />}
      {isLoading && !isShown && <Loading what="the preview" />}
      {stale && changes && !isLoading && <StalePreview tenant={tenant} before={stale} after={changes} />}
      {changes && isShown && (
        <ChangesPreview
          key={targetText}
          tenant={tenant}
          opensConflict={opensConflict}
          changes={changes}
          review={{
            target,
            resolutions,
            resolve: (id, resolution) => setResolutions((before) => ({ ...before, [id]: resolution })),
          }}
        />
      )}
    </FormDialog>
  );
}
