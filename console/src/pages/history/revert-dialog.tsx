import { useState } from 'preact/hooks';
import type { RevertResolution } from '../../api/api-types.ts';
import { type ActorQuery, type RevertTarget, reversion } from '../../api/history-api.ts';
import { TimeField } from '../../ui/time-field.tsx';
import { PreviewDialog } from './preview-dialog.tsx';

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
export function RevertDialog({ tenant, actor, name, opensConflict, onDone, onClose, ...initial }: Props) {
  const [times, setTimes] = useState({ since: initial.since, until: initial.until ?? null });
  const [resolutions, setResolutions] = useState<Record<string, RevertResolution>>({});
  const target: RevertTarget = { ...actor, since: times.since, ...(times.until && { until: times.until }) };
  const changeTimes = (changes: Partial<typeof times>) => {
    setTimes({ ...times, ...changes });
    setResolutions({});
  };
  return (
    <PreviewDialog
      tenant={tenant}
      title="Revert an actor's changes"
      verb="Revert"
      doing="Reverting"
      request={(plan) => reversion(tenant, { ...target, resolutions: Object.values(resolutions) }, plan)}
      target={target}
      review={{
        target,
        resolutions,
        resolve: (id, resolution) => setResolutions((before) => ({ ...before, [id]: resolution })),
      }}
      opensConflict={opensConflict}
      done={`Reverted the changes of ${name}`}
      onDone={onDone}
      onClose={onClose}
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
          value={times.since}
          isRequired
          onChange={(since) => since !== null && changeTimes({ since })}
        />
        <TimeField
          label="Until"
          fallback="now"
          value={times.until}
          onChange={(until) => changeTimes({ until })}
        />
      </div>
    </PreviewDialog>
  );
}
