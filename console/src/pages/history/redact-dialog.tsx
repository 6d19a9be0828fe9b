import { useState } from 'preact/hooks';
import type { Version } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { checkRedaction, redaction, redactVersion } from '../../api/history-api.ts';
import { count } from '../../text/format.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Time } from '../../ui/inline.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Name } from '../../ui/name.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useAction, useLoad } from '../../ui/use-load.ts';

interface Props {
  tenant: string;
  version: Version;
  onClose: () => void;
}

/**
 * Redacts a version. The service first checks whether the redaction is possible, so the dialog does not ask in vain.
 */
export function RedactDialog({ tenant, version, onClose }: Props) {
  const { data, error } = useLoad(
    (signal) => checkRedaction(tenant, version.id, signal),
    [tenant, version.id],
  );
  if (data !== undefined)
    return <RedactForm tenant={tenant} version={version} versions={data.redacted.length} onClose={onClose} />;
  return (
    <Modal title="Redact this version" onClose={onClose}>
      <div class="dialog-body">
        {error === undefined ? <Loading what="the versions to redact" /> : <LoadError error={error} />}
      </div>
      <footer>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </footer>
    </Modal>
  );
}

function RedactForm({ tenant, version, versions, onClose }: Props & { versions: number }) {
  const [isSure, setIsSure] = useState(false);
  const action = useAction();
  const apply = () =>
    action.run(async () => {
      const { versions: redacted, drafts } = await redactVersion(tenant, version.id);
      noteChange();
      const left = drafts.length === 0 ? '' : ` ${count(drafts.length, 'open draft')} still with the file.`;
      toast(`Redacted ${count(redacted, 'version')}.${left}`);
      onClose();
    });
  return (
    <FormDialog
      title="Redact this version?"
      verb="Redact"
      isDangerous
      isReady={isSure}
      action={action}
      onClose={onClose}
      request={redaction(tenant, version.id)}
      onSubmit={apply}
    >
      {version.path !== null && <Name text={version.path} keepsEnd />}
      <p>
        The content and the path of this version, of <Time value={version.created_at} />, are removed
        permanently from the history
        {versions > 1 && `, with ${count(versions - 1, 'other version')} of the same content`}. The record of
        the version, with its time and actor, is kept.
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={isSure}
          onChange={(event) => setIsSure(event.currentTarget.checked)}
        />
        I understand that this cannot be undone.
      </label>
    </FormDialog>
  );
}
