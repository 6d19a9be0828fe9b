import { useRef, useState } from 'preact/hooks';
import { changed } from '../../api/changes.ts';
import { canWrite } from '../../api/session.ts';
import { exportArchive, type ImportProgress, importArchive } from '../../api/transfer.ts';
import { formatBytes } from '../../text/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { amountOf, IMPORTING, importedText, type Progress, progressOf } from '../../ui/import-progress.ts';
import { ErrorText } from '../../ui/messages.tsx';
import { save } from '../../ui/save.ts';
import { toast } from '../../ui/toasts.ts';
import { useAction } from '../../ui/use-load.ts';
import { WorkProgress } from '../../ui/work-progress.tsx';

/** Exports and imports a memory, and shows the progress. */
export function Transfer({ tenant }: { tenant: string }) {
  const [progress, setProgress] = useState<Progress>(IMPORTING);
  const [withHistory, setWithHistory] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const action = useAction();
  const download = () =>
    action.run(async (signal) => {
      setProgress({ what: 'Making the archive', fraction: null });
      const onProgress = (done: number, of: number) => setProgress(amountOf('Downloading', done, of));
      const archive = await exportArchive(tenant, { history: withHistory }, onProgress, signal);
      save(archive, `${tenant}.tar`);
      toast(`Exported ${tenant}: ${formatBytes(archive.size)}.`);
    });
  const upload = (archive: Blob) =>
    action.run(async (signal) => {
      setProgress(progressOf({ step: 'send', done: 0, of: archive.size }));
      const onProgress = (step: ImportProgress) => setProgress(progressOf(step));
      const imported = await importArchive(tenant, archive, onProgress, signal);
      changed();
      toast(importedText('Imported', imported));
    });
  return (
    <>
      <h2>Export and import</h2>
      <p class="muted small">
        A tar archive of all files. An import adds all files of an archive, or none: it is rejected if one of
        the paths exists. It restores the history of the archive if the tenant is empty.
      </p>
      <div class="buttons">
        <button type="button" disabled={action.isRunning} onClick={download}>
          <Icon name="download" /> Export
        </button>
        <label class="check">
          <input
            type="checkbox"
            checked={withHistory}
            onChange={(event) => setWithHistory(event.currentTarget.checked)}
          />
          With the history
        </label>
        {canWrite.value && (
          <button type="button" disabled={action.isRunning} onClick={() => picker.current?.click()}>
            <Icon name="upload" /> Import…
          </button>
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
          const [archive] = currentTarget.files ?? [];
          currentTarget.value = '';
          if (archive !== undefined) void upload(archive);
        }}
      />
      {action.isRunning && <WorkProgress {...progress} />}
      <ErrorText message={action.error} />
    </>
  );
}
