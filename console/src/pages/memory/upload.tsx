import { useRef, useState } from 'preact/hooks';
import { Button } from '../../ui/button.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { useAction } from '../../ui/use-load.ts';
import { WorkProgress } from '../../ui/work-progress.tsx';
import { ImportDialog } from '../archive/import-dialog.tsx';

/** Uploads files, or a directory with all its files, in one transaction. */
export function UploadButtons({ tenant, path }: { tenant: string; path: string }) {
  const [archive, setArchive] = useState<Blob | null>(null);
  const action = useAction();
  const files = useRef<HTMLInputElement>(null);
  const directory = useRef<HTMLInputElement>(null);
  const upload = (chosen: File[]) =>
    action.run(async () => {
      // The archive code is loaded on the first upload.
      const { packArchive } = await import('../../api/pack-archive.ts');
      setArchive(await packArchive(path, chosen));
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
  const directoryPicker = { ...picker, webkitdirectory: true };
  return (
    <>
      <div class="buttons">
        <Button
          icon="upload"
          text="Upload files…"
          disabled={action.isRunning}
          onClick={() => files.current?.click()}
        />
        <Button
          icon="directory"
          text="Upload a directory…"
          disabled={action.isRunning}
          onClick={() => directory.current?.click()}
        />
      </div>
      <p class="muted small">
        All files are added, or none. Existing files are not replaced: move or delete them first.
      </p>
      <input ref={files} {...picker} aria-label="Files to upload" />
      <input ref={directory} {...directoryPicker} aria-label="Directory to upload" />
      {action.isRunning && <WorkProgress what="Reading the files" fraction={null} />}
      <ErrorText message={action.error} />
      {archive !== null && (
        <ImportDialog tenant={tenant} archive={archive} verb="Upload" onClose={() => setArchive(null)} />
      )}
    </>
  );
}
