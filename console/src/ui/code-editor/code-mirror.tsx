import './adopted-styles.ts';
import './code-editor.css';
import {
  deleteCharBackwardStrict,
  history,
  historyKeymap,
  insertNewlineKeepIndent,
  standardKeymap,
} from '@codemirror/commands';
import { search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { conflictButtons } from './conflict-buttons.ts';
import { hiddenCharacters } from './decorations.ts';

export interface CodeEditorProps {
  /** Accessible name. */
  label: string;
  /** The text, with line feeds as line endings. */
  text: string;
  onChange: (text: string) => void;
  /** Whether the editor takes the focus when it opens. */
  isFocused?: boolean;
}

const EXTENSIONS: Extension = [
  lineNumbers(),
  EditorView.lineWrapping,
  history(),
  search({ top: true, literal: true }),
  hiddenCharacters,
  conflictButtons,
  keymap.of([
    { key: 'Enter', run: insertNewlineKeepIndent, shift: insertNewlineKeepIndent },
    { key: 'Backspace', run: deleteCharBackwardStrict, shift: deleteCharBackwardStrict },
    ...searchKeymap,
    ...historyKeymap,
    ...standardKeymap,
  ]),
  EditorState.phrases.of({
    next: 'Next',
    previous: 'Previous',
    'match case': 'Match case',
    'by word': 'Whole words',
    replace: 'Replace',
    'replace all': 'Replace all',
    close: 'Close the search',
  }),
];

/** CodeMirror as a component. Tab moves the focus, as in other fields. */
export function CodeMirror({ label, text, onChange, isFocused = false }: CodeEditorProps) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const shown = useRef(text);
  const latest = useRef(onChange);
  latest.current = onChange;
  useLayoutEffect(() => {
    if (parent.current === null) return;
    const created = new EditorView({
      parent: parent.current,
      doc: text,
      extensions: [
        EXTENSIONS,
        // The browser focuses the content without `tabindex`, too, but axe does not know that.
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (!docChanged) return;
          const changed = state.doc.toString();
          if (changed === shown.current) return;
          shown.current = changed;
          latest.current(changed);
        }),
      ],
    });
    view.current = created;
    if (isFocused) created.focus();
    return () => created.destroy();
  }, []);
  useLayoutEffect(() => {
    if (text === shown.current) return;
    shown.current = text;
    const { current } = view;
    current?.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: text } });
  }, [text]);
  return <div ref={parent} class="code-editor" />;
}
