import type { DraftDiff } from '../../api/drafts-api.ts';
import { hasMarks, takeSide } from '../../text/conflict-marks.ts';
import { CodeEditor } from '../../ui/code-editor/code-editor.tsx';
import { detectLineEnding, withLineEnding } from '../memory/line-endings.ts';
import { type Resolution, resolve } from './kept-resolutions.ts';

interface Props {
  tenant: string;
  draft: string;
  resolution: Resolution;
  diff: DraftDiff;
}

/** Editor for the reviewer's text for a file. */
export function OwnText({ tenant, draft, resolution, diff }: Props) {
  const text = withLineEnding(resolution.text ?? '', '\n');
  const ending = fileLineEnding(diff);
  const change = (changed: string) =>
    resolve(tenant, draft, diff.change.memory_id, {
      ...resolution,
      text: withLineEnding(changed, ending),
    });
  return (
    <div class="own-text field">
      <span>Own text</span>
      {hasMarks(text) && (
        <p class="marks-left" role="status">
          <MarksLeft />{' '}
          {(['draft', 'original'] as const).map((side) => (
            <button key={side} type="button" onClick={() => change(takeSide(text, side))}>
              Take {side} everywhere
            </button>
          ))}
        </p>
      )}
      <CodeEditor label="Own text" text={text} onChange={change} />
    </div>
  );
}

/** Explains conflict markers that are left in a text. */
export function MarksLeft() {
  return (
    <>
      Take a side of each part between &lt;&lt;&lt;&lt;&lt;&lt;&lt; and &gt;&gt;&gt;&gt;&gt;&gt;&gt;, or edit
      the text. Remove the marks, and the text that you do not want.
    </>
  );
}

/** The file's line ending. The editor converts all line endings to line feeds, so a change must restore them. */
const fileLineEnding = ({ texts: { draft, original } }: DraftDiff) =>
  detectLineEnding(draft ?? original ?? '') ?? '\n';
