import { useState } from 'preact/hooks';
import { directoryDeletion } from '../../api/memory-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { exportArchive } from '../../api/transfer-api.ts';
import { pushQuery, toHref } from '../../router.ts';
import { count, formatBytes, formatChosenTime } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { save } from '../../ui/save.ts';
import { Empty, ErrorText } from '../../ui/status-messages.tsx';
import { useAction } from '../../ui/use-load.ts';
import { WorkProgress } from '../../ui/work-progress.tsx';
import { RestoreDialog } from '../history/restore.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { MoveDialog } from './move-dialog.tsx';
import { NewFileDialog } from './new-file-dialog.tsx';
import { PaneHead } from './pane-head.tsx';
import { baseName, ROOT, type Size } from './tree.ts';
import { UploadButtons } from './upload.tsx';

interface Props {
  tenant: string;
  path: string;
  at: string | null;
  /** Undefined until the files are counted. */
  size: Size | undefined;
}

type DialogName = 'new' | 'move' | 'delete' | 'restore';

/** Actions on a directory. The tree lists the entries. */
export function DirectoryPane({ tenant, path, at, size }: Props) {
  const [dialog, setDialog] = useState<DialogName | null>(null);
  const download = useAction();
  const onClose = () => setDialog(null);
  const isPresent = at === null;
  return (
    <>
      <PaneHead path={path} facts={size && `${count(size.files, 'file')} · ${formatBytes(size.bytes)}`}>
        <div class="toolbar" role="toolbar" aria-label="Directory">
          <a class="button" href={toHref(['tenants', tenant, 'history'], path === ROOT ? {} : { path })}>
            <Icon name="clock" /> History
          </a>
          {isPresent && (
            <Button
              icon="download"
              text="Download"
              disabled={download.isRunning}
              onClick={() =>
                download.run(async (signal) => {
                  const archive = await exportArchive(tenant, { path }, () => {}, signal);
                  save(archive, `${path === ROOT ? tenant : baseName(path)}.tar`);
                })
              }
            />
          )}
          {canWrite.value && isPresent && (
            <Button icon="plus" text="New file here" onClick={() => setDialog('new')} />
          )}
          {canWrite.value && isPresent && path !== ROOT && (
            <>
              <Button icon="move" text="Move…" onClick={() => setDialog('move')} />
              <Button icon="trash" text="Delete…" class="danger-quiet" onClick={() => setDialog('delete')} />
            </>
          )}
          {canWrite.value && !isPresent && (
            <Button icon="restore" text="Restore…" onClick={() => setDialog('restore')} />
          )}
        </div>
      </PaneHead>
      <div class="stack directory-body">
        {download.isRunning && <WorkProgress what="Making the archive" fraction={null} />}
        <ErrorText message={download.error} />
        {canWrite.value && isPresent ? (
          <UploadButtons tenant={tenant} path={path} />
        ) : (
          <Empty title={isPresent ? 'A directory' : 'A past directory'} />
        )}
      </div>
      {dialog === 'new' && (
        <NewFileDialog
          tenant={tenant}
          onClose={onClose}
          directory={path}
          onCreated={(file) => pushQuery({ path: file })}
        />
      )}
      {dialog === 'move' && <MoveDialog tenant={tenant} path={path} onClose={onClose} />}
      {dialog === 'delete' && (
        <DeleteDialog
          tenant={tenant}
          path={path}
          onClose={onClose}
          below={size}
          request={directoryDeletion(tenant, path)}
        />
      )}
      {dialog === 'restore' && at !== null && (
        <RestoreDialog
          tenant={tenant}
          onClose={onClose}
          target={{ at, path }}
          what={`${path} as it was at ${formatChosenTime(at)}`}
        />
      )}
    </>
  );
}
