import { useCallback, useMemo } from 'preact/hooks';
import { FindBar, useFind } from '../../ui/find-bar.tsx';
import { Empty } from '../../ui/status-messages.tsx';
import { CodeDiff, LINE_HEIGHT } from '../history/diff-view.tsx';

/** Shows a file's text, with a mark on the line from the URL or on the search's current match. */
export function Lines({ content, line }: { content: string; line: number | null }) {
  const lines = useMemo(() => textLines(content), [content]);
  const find = useFind(useCallback(() => lines.map(({ text }) => text), [lines]));
  if (content === '') return <Empty title="This file is empty" />;
  return (
    <div ref={find.container} class="fills findable">
      <FindBar find={find} label="Find in the file" />
      <div class="lines">
        {/* The height keeps the scroll position when the text changes. */}
        <div style={{ minHeight: `${lines.length * LINE_HEIGHT}px` }}>
          <CodeDiff
            label="Content"
            lines={lines}
            isSplit={false}
            query={find.query}
            current={find.query === '' ? line && line - 1 : (find.matches[find.at] ?? null)}
          />
        </div>
      </div>
    </div>
  );
}

/** A newline at the end of the text does not start another line. */
const textLines = (content: string) =>
  content
    .replace(/\n$/, '')
    .split('\n')
    .map((text, i) => ({ kind: 'same' as const, text, old: null, now: i + 1 }));
