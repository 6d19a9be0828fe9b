import { useState } from 'preact/hooks';
import { noteChange } from '../../api/change-signals.ts';
import { fileWrite, writeFile } from '../../api/memory-api.ts';
import { CodeEditor } from '../../ui/code-editor/code-editor.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toasts.ts';
import { useAction } from '../../ui/use-load.ts';
import { ROOT } from './tree.ts';

interface Props {
  tenant: string;
  /** Suggested directory for the new file. */
  directory?: string;
  onCreated: (path: string) => void;
  onClose: () => void;
}

export function NewFileDialog({ tenant, directory = ROOT, onCreated, onClose }: Props) {
  const [path, setPath] = useState(`${directory}/`);
  const [content, setContent] = useState('');
  const action = useAction();
  const create = () =>
    action.run(async () => {
      await writeFile(tenant, path, content, null);
      noteChange();
      toast(`Created ${path}.`);
      onCreated(path);
      onClose();
    });
  return (
    <FormDialog
      title="New file"
      verb="Create"
      isWide
      hasInput={content !== ''}
      action={action}
      onClose={onClose}
      request={fileWrite(tenant, path, content, null)}
      onSubmit={create}
    >
      <label>
        Path
        <input required autofocus value={path} onInput={(event) => setPath(event.currentTarget.value)} />
      </label>
      <div class="field">
        <span>Content</span>
        <CodeEditor label="Content" text={content} onChange={setContent} />
      </div>
    </FormDialog>
  );
}
