import { useState } from 'preact/hooks';
import { changed } from '../../api/changes.ts';
import { redactVersion } from '../../api/history.ts';
import type { Version } from '../../api/types.ts';
import { count } from '../../text/format.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Time } from '../../ui/inline.tsx';
import { toast } from '../../ui/messages.tsx';
import { Name } from '../../ui/name.tsx';
import { useAction } from '../../ui/use-load.ts';

export function RedactDialog(props: { tenant: string; version: Version; onClose: () => void }) {
  const { tenant, version, onClose } = props;
  const [isSure, setIsSure] = useState(false);
  const action = useAction();
  const apply = () =>
    action.run(async () => {
      const { versions, drafts } = await redactVersion(tenant, version.id);
      changed();
      const left = drafts.length === 0 ? '' : ` ${count(drafts.length, 'open draft')} still with the file.`;
      toast(`Redacted ${count(versions, 'version')}.${left}`);
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
      onSubmit={apply}
    >
      {version.path !== null && <Name text={version.path} keepsEnd />}
      <p>
        The content and the path of this version, of <Time value={version.created_at} />, are removed
        permanently from the history, including other versions with the same content. The record of the
        version, with its time and actor, is kept.
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
