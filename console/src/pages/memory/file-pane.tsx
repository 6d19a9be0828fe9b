import { useState } from 'preact/hooks';
import { ApiError } from '../../api/api-client.ts';
import type { Entry } from '../../api/api-types.ts';
import { changesMade } from '../../api/change-signals.ts';
import { fileDeletion, type LoadedFile, readFile } from '../../api/memory-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { toHref } from '../../router.ts';
import { formatBytes, formatChosenTime } from '../../text/format.ts';
import { hasHidden } from '../../text/visible.tsx';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Time } from '../../ui/inline.tsx';
import { save } from '../../ui/save.ts';
import { Segmented } from '../../ui/segmented.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { RestoreDialog } from '../history/restore.ts';
import { ReadSummary } from '../reads/read-summary.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { findKeptDraft } from './draft.ts';
import { FileEditor } from './file-editor.tsx';
import { Lines } from './file-lines.tsx';
import { MarkdownView } from './markdown-view.tsx';
import { MoveDialog } from './move-dialog.tsx';
import { PaneHead } from './pane-head.tsx';
import { baseName } from './tree.ts';

interface Props {
  tenant: string;
  path: string;
  at: string | null;
  line: number | null;
  entry: Entry | undefined;
}

const VIEWS = [
  ['text', 'Text'],
  ['markdown', 'Markdown'],
] as const;

type Mode = 'text' | 'markdown' | 'edit';

/** Shows a file at a time, with its actions. */
export function FilePane({ tenant, path, at, line, entry }: Props) {
  const [mode, setMode] = useState<Mode>(() => (findKeptDraft(tenant, path) ? 'edit' : 'text'));
  const { data, error, reload } = useLoad(
    (signal) => readFile(tenant, path, at, signal),
    [tenant, path, at, mode === 'edit' ? null : changesMade.value],
  );
  const isEditing = mode === 'edit' && at === null;
  return (
    <>
      <PaneHead
        path={path}
        facts={
          entry && (
            <>
              {formatBytes(entry.size_bytes ?? 0)} · changed <Time value={entry.modified_at} isAge />
              {at === null && <ReadSummary tenant={tenant} path={path} />}
            </>
          )
        }
      >
        {data && !isEditing && (
          <FileActions tenant={tenant} path={path} at={at} mode={mode} setMode={setMode} file={data} />
        )}
      </PaneHead>
      {error !== undefined && (
        <FileError tenant={tenant} path={path} error={error} at={at} onRetry={reload} />
      )}
      {data === undefined && error === undefined && <Loading what="the file" />}
      {data && isEditing && (
        <FileEditor tenant={tenant} path={path} file={data} onClose={() => setMode('text')} />
      )}
      {data && !isEditing && <FileContent mode={mode} line={line} content={data.content} />}
    </>
  );
}

interface ErrorProps extends Pick<Props, 'tenant' | 'path' | 'at'> {
  error: unknown;
  onRetry: () => void;
}

function FileError({ tenant, path, at, error, onRetry }: ErrorProps) {
  if (!(error instanceof ApiError) || error.status !== 404)
    return <LoadError error={error} onRetry={onRetry} />;
  return (
    <Empty title={at === null ? 'This file does not exist' : 'This file did not exist at that time'}>
      <p>The history lists its versions if it existed at another time.</p>
      <div class="buttons">
        <a class="button" href={toHref(['tenants', tenant, 'history'], { path })}>
          <Icon name="clock" /> History of the file
        </a>
        {at !== null && (
          <a class="button" href={toHref(['tenants', tenant], { path })}>
            The file now
          </a>
        )}
      </div>
    </Empty>
  );
}

interface ActionsProps {
  tenant: string;
  path: string;
  at: string | null;
  mode: Mode;
  setMode: (mode: Mode) => void;
  file: LoadedFile;
}

function FileActions({ tenant, path, at, mode, setMode, file }: ActionsProps) {
  const [dialog, setDialog] = useState<'delete' | 'move' | 'restore' | null>(null);
  const close = () => setDialog(null);
  return (
    <div class="toolbar" role="toolbar" aria-label="File">
      <Segmented
        label="Show as"
        options={VIEWS}
        value={mode === 'markdown' ? 'markdown' : 'text'}
        onChange={setMode}
      />
      <a
        class="button"
        href={toHref(['tenants', tenant, 'history'], { path })}
        aria-label="History of the file"
      >
        <Icon name="clock" /> History
      </a>
      <Button
        icon="download"
        text="Download"
        onClick={() => save(new Blob([file.content]), baseName(path))}
      />
      {canWrite.value && at === null && (
        <>
          <Button icon="edit" text="Edit" onClick={() => setMode('edit')} />
          <Button icon="move" text="Move…" onClick={() => setDialog('move')} />
          <IconButton icon="trash" label="Delete" onClick={() => setDialog('delete')} />
        </>
      )}
      {at !== null && (
        <a class="button" href={toHref(['tenants', tenant, 'compare'], { at, path })}>
          <Icon name="compare" /> Compare
        </a>
      )}
      {canWrite.value && at !== null && (
        <Button icon="restore" text="Restore…" onClick={() => setDialog('restore')} />
      )}
      {dialog === 'move' && <MoveDialog tenant={tenant} path={path} onClose={close} />}
      {dialog === 'delete' && (
        <DeleteDialog
          tenant={tenant}
          path={path}
          below={null}
          request={fileDeletion(tenant, path, file.etag)}
          onClose={close}
        />
      )}
      {dialog === 'restore' && at !== null && (
        <RestoreDialog
          tenant={tenant}
          target={{ at, path }}
          what={`${path} as it was at ${formatChosenTime(at)}`}
          onClose={close}
        />
      )}
    </div>
  );
}

function FileContent({ content, mode, line }: { content: string; mode: Mode; line: number | null }) {
  return (
    <>
      {hasHidden(content) && (
        <p class="notice warning flat">
          <Icon name="warning" /> This file has characters that are normally invisible. They are shown as{' '}
          <span class="hidden-character">U+…</span>
        </p>
      )}
      {mode === 'markdown' ? <MarkdownView content={content} /> : <Lines content={content} line={line} />}
    </>
  );
}
