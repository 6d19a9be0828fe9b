import { useState } from 'preact/hooks';
import type { Version } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { checkRedaction, redaction, redactVersion } from '../../api/history-api.ts';
import { count } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { ActionDialog } from '../../ui/dialog.tsx';
import { CheckField } from '../../ui/fields.tsx';
import { Time } from '../../ui/inline.tsx';
import { Load } from '../../ui/load.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Name } from '../../ui/name.tsx';
import { toast } from '../../ui/toasts.ts';
import { useLoad } from '../../ui/use-load.ts';

interface Props {
  tenant: string;
  version: Version;
  onClose: () => void;
}

/**
 * Redacts a version. The service first checks whether the redaction is possible, so the dialog does not ask in vain.
 */
export function RedactDialog({ tenant, version, onClose }: Props) {
  const check = useLoad((signal) => checkRedaction(tenant, version.id, signal), [tenant, version.id]);
  const [isSure, setIsSure] = useState(false);
  const { data } = check;
  if (data === undefined)
    return (
      <Modal title="Redact this version" onClose={onClose}>
        <div class="dialog-body">
          <Load of={check} what="the versions to redact">
            {() => null}
          </Load>
        </div>
        <footer>
          <Button text="Close" onClick={onClose} />
        </footer>
      </Modal>
    );
  const apply = async () => {
    const { versions, drafts } = await redactVersion(tenant, version.id);
    noteChange();
    const left = drafts.length === 0 ? '' : ` ${count(drafts.length, 'open draft')} still with the file.`;
    toast(`Redacted ${count(versions, 'version')}.${left}`);
    onClose();
  };
  const others = data.redacted.length - 1;
  return (
    <ActionDialog
      title="Redact this version?"
      verb="Redact"
      isDangerous
      isReady={isSure}
      onClose={onClose}
      request={redaction(tenant, version.id)}
      onSubmit={apply}
    >
      {version.path !== null && <Name text={version.path} keepsEnd />}
      <p>
        The content and the path of this version, of <Time value={version.created_at} />, are removed
        permanently from the history
        {others > 0 && `, with ${count(others, 'other version')} of the same content`}. The record of the
        version, with its time and actor, is kept.
      </p>
      <CheckField checked={isSure} onChange={setIsSure}>
        I understand that this cannot be undone.
      </CheckField>
    </ActionDialog>
  );
}
