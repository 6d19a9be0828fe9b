import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { ApiError } from '../../api/api-client.ts';
import { noteChange } from '../../api/change-signals.ts';
import { type LoadedFile, readFile, writeFile } from '../../api/memory-api.ts';
import { hasMarks } from '../../text/conflict-marks.ts';
import { Button } from '../../ui/button.tsx';
import { CodeEditor } from '../../ui/code-editor/code-editor.tsx';
import { lazy } from '../../ui/lazy.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { mayDiscard } from '../../ui/unsaved.ts';
import { useAction } from '../../ui/use-load.ts';
import { MarksLeft } from '../drafts/own-text-editor.tsx';
import { findKeptDraft, keepDraft } from './draft.ts';
import { detectLineEnding, withLineEnding } from './line-endings.ts';

const EditConflict = lazy('the conflict', async () => (await import('./edit-conflict.tsx')).EditConflict);

interface Props {
  tenant: string;
  path: string;
  file: LoadedFile;
  onClose: () => void;
}

/**
 * Edits a file. A save only replaces the content that was loaded. If someone else changed the file, both contents are
 * shown.
 */
export function FileEditor({ tenant, path, file, onClose }: Props) {
  const draft = findKeptDraft(tenant, path);
  const [base, setBase] = useState(draft?.base ?? file);
  const [text, setText] = useState(() => draft?.text ?? withLineEnding(file.content, '\n'));
  // The current file after a rejected save; null if the file was deleted.
  const [theirs, setTheirs] = useState<LoadedFile | null | undefined>();
  const action = useAction();
  const ending = useMemo(() => detectLineEnding(file.content), [file]);
  const baseText = useMemo(() => withLineEnding(base.content, '\n'), [base]);
  // A file may have such lines by itself.
  const hasMarksLeft = hasMarks(text) && !hasMarks(baseText);
  const isChanged = text !== baseText;
  // A layout effect runs before the next event, so a click right after the last key already asks.
  useLayoutEffect(() => keepDraft(isChanged ? { tenant, path, base, text } : null), [isChanged, base, text]);
  const close = () => {
    keepDraft(null);
    onClose();
  };

  const save = () =>
    action.run(async (signal) => {
      try {
        await writeFile(
          tenant,
          path,
          withLineEnding(text, ending ?? '\n'),
          base.etag === '' ? null : base.etag,
        );
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 412) throw error;
        setTheirs(await readIfExists(tenant, path, signal));
        return;
      }
      noteChange();
      toast(`Saved ${path}.`);
      close();
    });
  if (theirs !== undefined) {
    const keepEditing = (kept: string) => {
      setBase(theirs ?? { content: '', etag: '' });
      setText(kept);
      setTheirs(undefined);
    };
    const takeTheirs = () => {
      noteChange();
      close();
    };
    return (
      <EditConflict
        base={baseText}
        mine={text}
        theirs={theirs}
        keepEditing={keepEditing}
        takeTheirs={takeTheirs}
      />
    );
  }
  const maySave = isChanged && !hasMarksLeft && !action.isRunning;
  return (
    <form
      class="fills editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (maySave) void save();
      }}
      onKeyDown={(event) => {
        if (event.key === 's' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          if (maySave) void save();
        }
      }}
    >
      {ending === null && (
        <p class="notice warning flat">This file has mixed line endings. Saving converts them to LF.</p>
      )}
      <CodeEditor label="Content of the file" text={text} onChange={setText} isFocused />
      <ErrorText message={action.error} />
      <footer class="row editor-foot">
        {hasMarksLeft ? (
          <span class="marks-left small spacer" role="status">
            <MarksLeft />
          </span>
        ) : (
          <span class="muted small spacer">{isChanged ? 'Unsaved changes' : 'No changes'}</span>
        )}
        <Button text="Cancel" onClick={async () => (await mayDiscard()) && close()} />
        <button type="submit" class="primary" disabled={!maySave}>
          Save
        </button>
      </footer>
    </form>
  );
}

async function readIfExists(tenant: string, path: string, signal: AbortSignal): Promise<LoadedFile | null> {
  try {
    return await readFile(tenant, path, null, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}
