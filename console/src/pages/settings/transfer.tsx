import { useRef, useState } from 'preact/hooks';
import { changed } from '../../api/changes.ts';
import { canWrite } from '../../api/session.ts';
import { exportArchive, type ImportProgress, importArchive } from '../../api/transfer.ts';
import { count, formatBytes, formatNumber } from '../../text/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { ErrorText, toast } from '../../ui/messages.tsx';
import { save } from '../../ui/save.ts';
import { useAction } from '../../ui/use-load.ts';
import { WorkProgress } from '../../ui/work-progress.tsx';

interface Progress {
  what: string;
  fraction: number | null;
}

/** Export and import of a whole memory, with their progress. */
export function Transfer({ tenant }: { tenant: string }) {
  const [progress, setProgress] = useState<Progress>({ what: '', fraction: null });
  const picker = useRef<HTMLInputElement>(null);
  const action = useAction();
  const download = () =>
    action.run(async (signal) => {
      setProgress({ what: 'Making the archive', fraction: null });
      const onProgress = (done: number, of: number) => setProgress(amountOf('Downloading', done, of));
      const archive = await exportArchive(tenant, onProgress, signal);
      save(archive, `${tenant}.tar`);
      toast(`Exported ${tenant}: ${formatBytes(archive.size)}.`);
    });
  const upload = (archive: Blob) =>
    action.run(async (signal) => {
      setProgress(amountOf(UPLOADING, 0, archive.size));
      const onProgress = (progress: ImportProgress) => setProgress(importProgress(progress));
      const { files, bytes, masked } = await importArchive(tenant, archive, onProgress, signal);
      changed();
      const note = masked.length === 0 ? '' : ` Secrets were masked in ${count(masked.length, 'file')}.`;
      toast(`Imported ${count(files, 'file')} (${formatBytes(bytes)}).${note}`);
    });
  return (
    <>
      <h2>Export and import</h2>
      <p class="muted small">
        A tar archive of all files. An import adds all files of an archive, or none: it replaces nothing, and
        is refused when a path is taken.
      </p>
      <div class="buttons">
        <button type="button" disabled={action.isRunning} onClick={download}>
          <Icon name="download" /> Export
        </button>
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

const UPLOADING = 'Uploading and checking';

function importProgress({ step, done, of }: ImportProgress): Progress {
  if (step === 'send') return amountOf(UPLOADING, done, of);
  return { what: `Writing ${formatNumber(done)} of ${count(of, 'file')}`, fraction: done / of };
}

function amountOf(doing: string, done: number, of: number): Progress {
  // A proxy that compresses the archive does not tell its size.
  if (of === 0) return { what: `${doing} ${formatBytes(done)}`, fraction: null };
  return { what: `${doing} ${formatBytes(done)} of ${formatBytes(of)}`, fraction: done / of };
}
