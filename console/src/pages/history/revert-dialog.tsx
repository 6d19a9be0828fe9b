import { useState } from 'preact/hooks';
import { changed } from '../../api/changes.ts';
import { revert } from '../../api/history.ts';
import { fromLocal, toLocal } from '../../text/local-time.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { LoadError, Loading, toast } from '../../ui/messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useAction, useLoad } from '../../ui/use-load.ts';
import { amountOf, ChangesPreview, hasChanges } from './changes-preview.tsx';

interface Props {
  tenant: string;
  /** What names the actor to the API, and to people. */
  by: string;
  name: string;
  since: string;
  onClose: () => void;
}

/** Shows what it means to undo all that one actor did, and does it. */
export function RevertDialog({ tenant, by, name, since: initial, onClose }: Props) {
  const [since, setSince] = useState(initial);
  const settled = useDebounced(since, 300);
  const action = useAction();
  const preview = useLoad((signal) => revert(tenant, { by, since: settled }, true, signal), [settled]);
  const apply = () =>
    action.run(async () => {
      const { summary } = await revert(tenant, { by, since }, false);
      changed();
      toast(`Reverted what ${name} did: ${summary}.`);
      onClose();
    });
  const isReady =
    preview.data !== undefined && !preview.isLoading && since === settled && hasChanges(preview.data);
  return (
    <FormDialog
      title="Revert an actor"
      verb="Revert"
      isWide
      doing={`Reverting ${amountOf(preview.data)}`}
      {...{ action, isReady, onClose }}
      onSubmit={apply}
    >
      <p>
        This undoes what{' '}
        <strong>
          <bdi>{name}</bdi>
        </strong>{' '}
        did, and nothing else. It can be undone by a restore.
      </p>
      <label>
        Since
        <input
          type="datetime-local"
          step="1"
          required
          value={toLocal(since)}
          onInput={(event) => {
            const time = fromLocal(event.currentTarget.value);
            if (time !== null) setSince(time);
          }}
        />
      </label>
      {preview.error !== undefined && <LoadError error={preview.error} />}
      {preview.isLoading && <Loading what="the preview" />}
      {preview.data && !preview.isLoading && <ChangesPreview changes={preview.data} />}
    </FormDialog>
  );
}
