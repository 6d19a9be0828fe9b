import { useRef, useState } from 'preact/hooks';
import { canWrite } from '../../api/session-state.ts';
import { exportArchive } from '../../api/transfer-api.ts';
import { formatBytes } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { CheckField } from '../../ui/fields.tsx';
import { save } from '../../ui/save.ts';
import { ErrorText } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useAction } from '../../ui/use-load.ts';
import { WorkProgress } from '../../ui/work-progress.tsx';
import { ImportDialog } from './import-dialog.tsx';
import { byteProgress, type Progress } from './import-progress.ts';

const EXPORTING: Progress = { what: 'Making the archive', fraction: null };

/** Exports and imports a memory, and shows the progress. */
export function Transfer({ tenant }: { tenant: string }) {
  const [progress, setProgress] = useState(EXPORTING);
  const [archive, setArchive] = useState<Blob | null>(null);
  const [withHistory, setWithHistory] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const action = useAction();
  const download = () =>
    action.run(async (signal) => {
      setProgress(EXPORTING);
      const onProgress = (done: number, of: number) => setProgress(byteProgress('Downloading', done, of));
      const archive = await exportArchive(tenant, { history: withHistory }, onProgress, signal);
      save(archive, `${tenant}.tar`);
      toast(`Exported ${tenant}: ${formatBytes(archive.size)}.`);
    });
  return (
    <>
      <h2>Export and import</h2>
      <p class="muted small">
        A tar archive of all files. An import adds all files of an archive, or none: it is rejected if one of
        the paths exists. It restores the history of the archive if the tenant is empty.
      </p>
      <div class="buttons">
        <Button icon="download" text="Export" disabled={action.isRunning} onClick={download} />
        <CheckField checked={withHistory} onChange={setWithHistory}>
          With the history
        </CheckField>
        {canWrite.value && (
          <Button
            icon="upload"
            text="Import…"
            disabled={action.isRunning}
            onClick={() => picker.current?.click()}
          />
        )}
      </div>
      <input
        ref={picker}
        type="file"
        accept=".tar,application/x-tar"
        class="visually-hidden"
        aria-label="Archive to import"
        tabIndex={-1}
        onChange={({ currentTarget }) => {
          const [chosen] = currentTarget.files ?? [];
          currentTarget.value = '';
          if (chosen !== undefined) setArchive(chosen);
        }}
      />
      {action.isRunning && <WorkProgress {...progress} />}
      <ErrorText message={action.error} />
      {archive !== null && (
        <ImportDialog tenant={tenant} archive={archive} verb="Import" onClose={() => setArchive(null)} />
      )}
    </>
  );
}
