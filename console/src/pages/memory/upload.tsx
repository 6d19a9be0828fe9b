import { useRef, useState } from 'preact/hooks';
import { changed } from '../../api/changes.ts';
import { importArchive } from '../../api/transfer.ts';
import { Icon } from '../../ui/icon.tsx';
import { IMPORTING, importedText, type Progress, progressOf } from '../../ui/import-progress.ts';
import { ErrorText } from '../../ui/messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useAction } from '../../ui/use-load.ts';
import { WorkProgress } from '../../ui/work-progress.tsx';

/** Uploads files, or a directory with all its files, in one transaction. */
export function UploadButtons({ tenant, path }: { tenant: string; path: string }) {
  const [progress, setProgress] = useState<Progress>(IMPORTING);
  const action = useAction();
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const upload = (chosen: File[]) =>
    action.run(async (signal) => {
      setProgress(IMPORTING);
      // The archive code is loaded on the first upload.
      const { archiveOf } = await import('../../api/archive.ts');
      const archive = await archiveOf(path, chosen);
      const onProgress = (step: Parameters<typeof progressOf>[0]) => setProgress(progressOf(step));
      const imported = await importArchive(tenant, archive, onProgress, signal);
      changed();
      toast(importedText('Uploaded', imported));
    });
  const picker = {
    type: 'file' as const,
    multiple: true,
    class: 'visually-hidden',
    tabIndex: -1,
    onChange: ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
      const chosen = [...(currentTarget.files ?? [])];
      currentTarget.value = '';
      if (chosen.length > 0) void upload(chosen);
    },
  };
  // Preact's types lack `webkitdirectory`.
  const folderPicker = { ...picker, webkitdirectory: true };
  return (
    <>
      <div class="buttons">
        <button type="button" disabled={action.isRunning} onClick={() => files.current?.click()}>
          <Icon name="upload" /> Upload files…
        </button>
        <button type="button" disabled={action.isRunning} onClick={() => folder.current?.click()}>
          <Icon name="folder" /> Upload a directory…
        </button>
      </div>
      <p class="muted small">
        All files are added, or none. Existing files are not replaced: move or delete them first.
      </p>
      <input ref={files} {...picker} aria-label="Files to upload" />
      <input ref={folder} {...folderPicker} aria-label="Directory to upload" />
      {action.isRunning && <WorkProgress {...progress} />}
      <ErrorText message={action.error} />
    </>
  );
}
