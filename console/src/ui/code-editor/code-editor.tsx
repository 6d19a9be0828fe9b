import { lazy } from '../lazy.tsx';
import type { CodeEditorProps } from './code-mirror.tsx';

/** Edits a text with CodeMirror, whose code is loaded with the first editor. */
export const CodeEditor = lazy(
  'the editor',
  async () => (await import('./code-mirror.tsx')).CodeMirror,
  PlainEditor,
);

/** Replaces the editor if its code cannot be loaded. */
function PlainEditor({ label, text, onChange, isFocused }: CodeEditorProps) {
  return (
    <div class="code-editor">
      <p class="notice warning flat">
        The editor could not be loaded. Edit the text in this plain field, or reload the page.
      </p>
      <textarea
        class="code"
        aria-label={label}
        spellcheck={false}
        autofocus={isFocused}
        value={text}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}
