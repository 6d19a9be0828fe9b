import { useState } from 'preact/hooks';
import type { ImportResult } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { type ImportProgress, importArchive } from '../../api/transfer-api.ts';
import { count, formatBytes, formatNumber } from '../../text/format.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { PathName } from '../../ui/path-name.tsx';
import { LoadError } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useLoad } from '../../ui/use-load.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { WorkProgress } from '../../ui/work-progress.tsx';
import { createUndo } from '../history/undo-changes.ts';
import { byteProgress, type Progress } from './import-progress.ts';

const ROW_HEIGHT = 33;
/** Maximum number of files that are named because secrets are masked in them. */
const NAMED = 5;

interface Props {
  tenant: string;
  archive: Blob;
  verb: 'Import' | 'Upload';
  onClose: () => void;
}

/** Previews an archive import with a dry run, and imports the archive after a confirmation. */
export function ImportDialog({ tenant, archive, verb, onClose }: Props) {
  const [progress, setProgress] = useState<Progress>(
    importProgress({ step: 'send', done: 0, of: archive.size }),
  );
  const onProgress = (step: ImportProgress) => setProgress(importProgress(step));
  const { data, error, isLoading, reload } = useLoad(
    (signal) => importArchive(tenant, archive, { dryRun: true }, onProgress, signal),
    [tenant, archive],
  );
  const start = async (signal: AbortSignal) => {
    const imported = await importArchive(tenant, archive, { dryRun: false }, onProgress, signal);
    noteChange();
    toast(importedText(`${verb}ed`, imported), createUndo(tenant, imported));
    onClose();
  };
  return (
    <ActionDialog
      title={verb === 'Import' ? 'Import an archive' : 'Upload files'}
      verb={verb}
      isReady={data !== undefined && !isLoading}
      doing={progress.what}
      fraction={progress.fraction}
      onClose={onClose}
      onSubmit={start}
    >
      {isLoading && <WorkProgress {...progress} />}
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data !== undefined && <ImportPreview imported={data} />}
    </ActionDialog>
  );
}

function ImportPreview({ imported }: { imported: ImportResult }) {
  const { files, bytes, versions, directories, history_left_out, masked, left_out, file_paths } = imported;
  const paths = file_paths ?? [];
  return (
    <>
      <p>
        <strong>
          {count(files, 'file')} ({formatBytes(bytes)}) will be added
          {versions !== null && `, with a history of ${count(versions, 'version')}`}.
        </strong>{' '}
        {directories.length > 0 && `${count(directories.length, 'directory', 'directories')} will be made.`}
      </p>
      {left_out.length > 0 && <p class="notice">Binary files of macOS are left out: {left_out.join(', ')}</p>}
      {history_left_out !== null && (
        <p class="notice warning">The history will be left out: {history_left_out}</p>
      )}
      {masked.length > 0 && (
        <p class="notice warning">
          Secrets will be masked in {count(masked.length, 'file')}:{' '}
          {masked
            .slice(0, NAMED)
            .map(({ name }) => name)
            .join(', ')}
          {masked.length > NAMED && `, and ${formatNumber(masked.length - NAMED)} more`}
        </p>
      )}
      {paths.length > 0 && (
        <VirtualList
          class="preview"
          style={{ height: `${paths.length * ROW_HEIGHT + 2}px` }}
          kind="list"
          label="Files to add"
          count={paths.length}
          rowHeight={ROW_HEIGHT}
        >
          {(index) => (
            <div class="preview-row">
              <PathName path={paths[index] ?? ''} />
            </div>
          )}
        </VirtualList>
      )}
    </>
  );
}

function importProgress({ step, done, of }: ImportProgress): Progress {
  if (step === 'send') return byteProgress('Uploading and checking', done, of);
  return { what: `Writing ${formatNumber(done)} of ${count(of, 'file')}`, fraction: done / of };
}

function importedText(did: string, { files, bytes, masked }: ImportResult): string {
  const note = masked.length === 0 ? '' : ` Secrets were masked in ${count(masked.length, 'file')}.`;
  return `${did} ${count(files, 'file')} (${formatBytes(bytes)}).${note}`;
}
