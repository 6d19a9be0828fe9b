import type { DraftDiff } from '../../api/drafts-api.ts';
import { CodeEditor } from '../../ui/code-editor/code-editor.tsx';
import { detectLineEnding, withLineEnding } from '../memory/line-endings.ts';
import { hasMarks } from './conflict-marks.ts';
import { type Resolution, resolve } from './kept-resolutions.ts';

interface Props {
  tenant: string;
  draft: string;
  resolution: Resolution;
  diff: DraftDiff;
}

/** Editor for the reviewer's text for a file. */
export function OwnText({ tenant, draft, resolution, diff }: Props) {
  const text = resolution.text ?? '';
  const ending = fileLineEnding(diff);
  return (
    <div class="own-text field">
      <span>
        Own text{' '}
        {hasMarks(text) && (
          <span class="marks-left" role="status">
            <MarksLeft />
          </span>
        )}
      </span>
      <CodeEditor
        label="Own text"
        text={withLineEnding(text, '\n')}
        onChange={(changed) =>
          resolve(tenant, draft, diff.change.memory_id, {
            ...resolution,
            text: withLineEnding(changed, ending),
          })
        }
        isMarked={hasMarks}
      />
    </div>
  );
}

/** Explains conflict markers that are left in a text. */
export function MarksLeft() {
  return (
    <>
      Both sides are between the marks &lt;&lt;&lt;&lt;&lt;&lt;&lt; and &gt;&gt;&gt;&gt;&gt;&gt;&gt;. Remove
      the marks, and the text that you do not want.
    </>
  );
}

/** The file's line ending. The editor converts all line endings to line feeds, so a change must restore them. */
const fileLineEnding = ({ texts: { draft, original } }: DraftDiff) =>
  detectLineEnding(draft ?? original ?? '') ?? '\n';
