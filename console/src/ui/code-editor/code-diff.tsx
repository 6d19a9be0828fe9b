import './adopted-styles.ts';
import './code-editor.css';
import './code-diff.css';
import { Change, MergeView, presentableDiff } from '@codemirror/merge';
import {
  Compartment,
  EditorState,
  type EditorStateConfig,
  type Extension,
  type Range,
  Text,
} from '@codemirror/state';
import { Decoration, EditorView, lineNumbers, WidgetType } from '@codemirror/view';
import { type ComponentChildren, render } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { decorateLines, hiddenCharacters, markMatches } from './decorations.ts';

export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
  /** Line numbers in the old and the new text. */
  old: number | null;
  now: number | null;
  /** Text above the line. */
  caption?: string;
  /** Text below the line. */
  note?: string;
}

/** Content below a line in the new text. */
export interface LineNote {
  /** Line number in the new text. */
  line: number;
  content: ComponentChildren;
}

export interface CodeDiffProps {
  /** Accessible name. */
  label: string;
  lines: readonly DiffLine[];
  /** Whether the texts are side by side. A text that is added or deleted has only one side. */
  isSplit: boolean;
  /** The searched text in lower case, or an empty text. */
  query: string;
  /** Line index to scroll to, and to mark as the search's current match. */
  current: number | null;
  notes?: readonly LineNote[] | undefined;
  /** Called with a line number in the new text when the user clicks the number. */
  onLine?: ((line: number) => void) | undefined;
}

/** Limits for a comparison between the words in changed lines: characters, and milliseconds. */
const LIMITS = { scanLimit: 500, timeout: 20 };

const NONE: readonly LineNote[] = [];

/** Shows differences or a text, and renders only the lines on the screen. */
export function CodeDiff({ label, lines, isSplit, query, current, notes = NONE, onLine }: CodeDiffProps) {
  const parent = useRef<HTMLDivElement>(null);
  const sides = useRef<Side[]>([]);
  const latest = useRef(onLine);
  latest.current = onLine;
  useLayoutEffect(() => {
    if (parent.current === null) return;
    const opened = openSides(parent.current, label, lines, isSplit, (line) => latest.current?.(line));
    sides.current = opened.sides;
    return () => opened.view.destroy();
  }, [lines, isSplit]);
  useLayoutEffect(() => {
    const line = current === null ? undefined : lines[current];
    for (const { view, lines } of sides.current) {
      const at = line === undefined ? 0 : lines.indexOf(line) + 1;
      const marks = search.reconfigure(markMatches(query, at));
      const scroll = at === 0 ? [] : EditorView.scrollIntoView(view.state.doc.line(at).from, { y: 'center' });
      view.dispatch({ effects: [marks, scroll].flat() });
    }
  }, [lines, isSplit, query, current]);
  const elements = useRef(new Map<number, HTMLElement>());
  useLayoutEffect(() => {
    const before = elements.current;
    // A line keeps its element, and thus the input and the focus in it.
    elements.current = new Map(
      notes.map(({ line }) => [line, before.get(line) ?? document.createElement('div')]),
    );
    // The last side is the new text, or both texts in one view.
    const side = sides.current.at(-1);
    const blocks = side && noted.reconfigure(showBlocks(side.view.state.doc, side.lines, elements.current));
    if (blocks !== undefined) side?.view.dispatch({ effects: blocks });
    for (const { line, content } of notes) render(content, elements.current.get(line) as HTMLElement);
    for (const [line, element] of before) if (!elements.current.has(line)) render(null, element);
  }, [lines, isSplit, notes]);
  useLayoutEffect(() => () => elements.current.forEach((element) => void render(null, element)), []);
  return <div ref={parent} class={onLine === undefined ? 'code-diff' : 'code-diff with-lines'} />;
}

const SIDES = ['old', 'now'] as const;

interface Side {
  view: EditorView;
  lines: readonly DiffLine[];
}

const [search, noted] = [new Compartment(), new Compartment()];

function openSides(
  parent: Element,
  label: string,
  lines: readonly DiffLine[],
  isSplit: boolean,
  onLine: (line: number) => void,
) {
  const [old, now] = [
    lines.filter(({ kind }) => kind !== 'added'),
    lines.filter(({ kind }) => kind !== 'removed'),
  ];
  if (!isSplit || old.length === 0 || now.length === 0) {
    const numbers = SIDES.filter((side) => lines.some((line) => line[side] !== null));
    const view = new EditorView({ parent, ...editorConfig(label, lines, numbers, onLine) });
    return { view, sides: [{ view, lines }] };
  }
  const view = new MergeView({
    parent,
    a: editorConfig(`${label}: old text`, old, ['old'], onLine),
    b: editorConfig(`${label}: new text`, now, ['now'], onLine),
    gutter: false,
    diffConfig: { override: () => findChanges(lines) },
  });
  return {
    view,
    sides: [
      { view: view.a, lines: old },
      { view: view.b, lines: now },
    ],
  };
}

function editorConfig(
  label: string,
  lines: readonly DiffLine[],
  numbers: ('old' | 'now')[],
  onLine: (line: number) => void,
): EditorStateConfig {
  // The texts end with a newline, because the merge view marks the last line if lines are added after it.
  const doc = Text.of([...lines.map(({ text }) => text), '']);
  const last = lines.at(-1);
  const width = String(Math.max(last?.old ?? 0, last?.now ?? 0)).length;
  return {
    doc,
    extensions: [
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
      hiddenCharacters,
      lineNumbers({
        formatNumber: (line) =>
          numbers.map((side) => String(lines[line - 1]?.[side] ?? '').padStart(width)).join('  '),
        domEventHandlers: {
          click({ state }, { from }) {
            const number = lines[state.doc.lineAt(from).number - 1]?.now ?? null;
            if (number !== null) onLine(number);
            return number !== null;
          },
        },
      }),
      decorateLines((number) => LINES[lines[number - 1]?.kind ?? 'same']),
      EditorView.decorations.of(Decoration.set([...findTexts(doc, lines), hideLastLine(doc)], true)),
      search.of([]),
      noted.of([]),
    ],
  };
}

const LINES = {
  same: Decoration.line({ class: 'same' }),
  removed: Decoration.line({ class: 'removed' }),
  added: Decoration.line({ class: 'added' }),
};

const hideLastLine = ({ length }: Text) => Decoration.replace({}).range(length - 1, length);

class Block extends WidgetType {
  readonly element: HTMLElement;
  constructor(element: HTMLElement) {
    super();
    this.element = element;
  }
  override eq({ element }: Block): boolean {
    return element === this.element;
  }
  override toDOM(): HTMLElement {
    return this.element;
  }
}

/** Returns the position below a line. The last line ends after the hidden newline. */
const lineEnd = (doc: Text, index: number) => (index === doc.lines - 2 ? doc.length : doc.line(index + 1).to);

const createBlock = (element: HTMLElement, side: number) =>
  Decoration.widget({ widget: new Block(element), block: true, side });

/** Shows elements below lines in the new text. Elements for other lines are not shown. */
function showBlocks(
  doc: Text,
  lines: readonly DiffLine[],
  blocks: ReadonlyMap<number, HTMLElement>,
): Extension {
  const ranges = [...blocks].flatMap(([line, element]) => {
    const index = lines.findIndex(({ now }) => now === line);
    if (index === -1) return [];
    return createBlock(element, 2).range(lineEnd(doc, index));
  });
  return EditorView.decorations.of(Decoration.set(ranges, true));
}

/** Returns the captions above lines and the notes below lines. */
function findTexts(doc: Text, lines: readonly DiffLine[]): Range<Decoration>[] {
  const block = (text: string, side: number, position: number) =>
    createBlock(
      Object.assign(document.createElement('div'), { className: 'diff-text', textContent: text }),
      side,
    ).range(position);
  return lines.flatMap(({ caption, note }, i) => [
    ...(caption === undefined ? [] : [block(caption, -1, doc.line(i + 1).from)]),
    ...(note === undefined ? [] : [block(note, 1, lineEnd(doc, i))]),
  ]);
}

/** Compares consecutive changed lines, because lines from different places in a file never match. */
function findChanges(lines: readonly DiffLine[]): Change[] {
  const changes: Change[] = [];
  let [atOld, atNow] = [0, 0];
  let run = { removed: '', added: '' };
  const flush = () => {
    for (const { fromA, toA, fromB, toB } of presentableDiff(run.removed, run.added, LIMITS))
      changes.push(new Change(atOld + fromA, atOld + toA, atNow + fromB, atNow + toB));
    [atOld, atNow] = [atOld + run.removed.length, atNow + run.added.length];
    run = { removed: '', added: '' };
  };
  for (const { kind, text, caption } of lines) {
    if (kind === 'same' || caption !== undefined) flush();
    if (kind === 'same') [atOld, atNow] = [atOld + text.length + 1, atNow + text.length + 1];
    else run[kind] += `${text}\n`;
  }
  flush();
  return changes;
}
