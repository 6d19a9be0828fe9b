import { Decoration, type EditorView, WidgetType } from '@codemirror/view';
import { hasMarks, readConflict } from '../../text/conflict-marks.ts';
import { decorateScreen } from './decorations.ts';

/** Buttons beside a conflict's first mark, which replace the conflict with a side. */
class Buttons extends WidgetType {
  readonly sides: readonly string[];
  constructor(sides: readonly string[]) {
    super();
    this.sides = sides;
  }
  override eq({ sides }: Buttons): boolean {
    return sides.join() === this.sides.join();
  }
  override toDOM(view: EditorView): HTMLElement {
    const element = document.createElement('span');
    element.className = 'conflict-buttons';
    for (const side of this.sides) {
      const button = document.createElement('button');
      Object.assign(button, { type: 'button', textContent: `Take ${side}` });
      button.onclick = () => replaceConflict(view, view.posAtDOM(element), side);
      element.append(button);
    }
    return element;
  }
}

function replaceConflict(view: EditorView, position: number, side: string): void {
  const { from } = view.state.doc.lineAt(position);
  const conflict = readConflict(view.state.sliceDoc(from));
  if (conflict === null) return;
  view.dispatch({
    changes: { from, to: from + conflict.length, insert: conflict.sides[side] ?? '' },
    userEvent: 'input',
  });
  view.focus();
}

const marked = Decoration.line({ class: 'marked-line' });

/** Highlights conflict markers, and shows buttons to replace each conflict with a side. */
export const conflictButtons = decorateScreen((view) =>
  view.viewportLineBlocks.flatMap(({ from, to }) => {
    const { doc } = view.state;
    if (!hasMarks(doc.lineAt(from).text)) return [];
    const conflict = readConflict(doc.sliceString(from));
    if (conflict === null) return [marked.range(from)];
    const widget = new Buttons(Object.keys(conflict.sides));
    return [marked.range(from), Decoration.widget({ widget, side: 1 }).range(to)];
  }),
);
