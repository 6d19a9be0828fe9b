import type { Extension, Range } from '@codemirror/state';
import { Decoration, type EditorView, ViewPlugin, WidgetType } from '@codemirror/view';
import { characterCode, HIDDEN, MAX_CODES } from '../../text/visible.tsx';
import { findOccurrences } from '../find-bar.tsx';

class Code extends WidgetType {
  readonly name: string;
  constructor(name: string) {
    super();
    this.name = name;
  }
  override eq({ name }: Code): boolean {
    return name === this.name;
  }
  override toDOM(): HTMLElement {
    const element = document.createElement('span');
    element.className = 'hidden-character';
    element.textContent = this.name;
    return element;
  }
}

const uncoded = Decoration.mark({ class: 'hidden-character' });

/** Shows invisible characters as codes such as `U+202E`. After `MAX_CODES` codes, highlights the text that contains more. */
export const hiddenCharacters = decorateScreen((view) => {
  const ranges: Range<Decoration>[] = [];
  for (const { from, to } of view.visibleRanges) {
    for (const { 0: character, index } of view.state.sliceDoc(from, to).matchAll(HIDDEN)) {
      const start = from + index;
      if (ranges.length >= MAX_CODES) {
        ranges.push(uncoded.range(start, to));
        break;
      }
      const widget = new Code(characterCode(character));
      ranges.push(Decoration.replace({ widget }).range(start, start + character.length));
    }
  }
  return ranges;
});

/** Decorates lines by their number, starting at 1. */
export const decorateLines = (findDecoration: (number: number) => Decoration): Extension =>
  decorateScreen((view) =>
    view.viewportLineBlocks.map(({ from }) => findDecoration(view.state.doc.lineAt(from).number).range(from)),
  );

const found = Decoration.mark({ tagName: 'mark', class: 'found' });
const current = Decoration.line({ class: 'current' });

/**
 * Marks a text's occurrences.
 *
 * @param query the text in lower case
 * @param at line number with the current match; 0 for none
 */
export const markMatches = (query: string, at: number): Extension =>
  decorateScreen((view) =>
    view.viewportLineBlocks.flatMap(({ from }) => {
      const { number, text } = view.state.doc.lineAt(from);
      const matches = findOccurrences(text, query).map((start) =>
        found.range(from + start, from + start + query.length),
      );
      return number === at ? [current.range(from), ...matches] : matches;
    }),
  );

/** Decorates the text on the screen, again after each change. */
export function decorateScreen(findRanges: (view: EditorView) => Range<Decoration>[]): Extension {
  const decorate = (view: EditorView) => ({ decorations: Decoration.set(findRanges(view)) });
  return ViewPlugin.define(
    (view) => ({
      ...decorate(view),
      update({ docChanged, viewportChanged, view }) {
        if (docChanged || viewportChanged) Object.assign(this, decorate(view));
      },
    }),
    { decorations: ({ decorations }) => decorations },
  );
}
