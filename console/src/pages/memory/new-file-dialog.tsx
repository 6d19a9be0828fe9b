import { useState } from 'preact/hooks';
import { noteChange } from '../../api/change-signals.ts';
import { fileWrite, writeFile } from '../../api/memory-api.ts';
import { CodeEditor } from '../../ui/code-editor/code-editor.tsx';
import { ActionDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { toast } from '../../ui/toasts.ts';
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
  const create = async () => {
    await writeFile(tenant, path, content, null);
    noteChange();
    toast(`Created ${path}.`);
    onCreated(path);
    onClose();
  };
  return (
    <ActionDialog
      title="New file"
      verb="Create"
      isWide
      hasInput={content !== ''}
      onClose={onClose}
      request={fileWrite(tenant, path, content, null)}
      onSubmit={create}
    >
      <TextField label="Path" required autofocus value={path} onChange={setPath} />
      <div class="field">
        <span>Content</span>
        <CodeEditor label="Content" text={content} onChange={setContent} />
      </div>
    </ActionDialog>
  );
}
