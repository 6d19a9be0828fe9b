import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks';
import { FindBar, markOccurrences, useFind, useFindKey } from '../../ui/find-bar.tsx';
import { Empty } from '../../ui/status-messages.tsx';
import { VirtualList, type VirtualListHandle } from '../../ui/virtual-list.tsx';

const LINE_HEIGHT = 21;

export function Lines({ content, line }: { content: string; line: number | null }) {
  const lines = useMemo(() => textLines(content), [content]);
  const list = useRef<VirtualListHandle>(null);
  useEffect(() => {
    if (line !== null) list.current?.scrollTo(line - 1);
  }, [line]);
  const container = useRef<HTMLDivElement>(null);
  const find = useFind(
    useCallback(() => lines, [lines]),
    (index) => list.current?.scrollTo(index),
  );
  useFindKey(container, find);
  const isCurrent = (index: number) =>
    find.query === '' ? index + 1 === line : index === find.matches[find.at];
  if (content === '') return <Empty title="This file is empty" />;
  return (
    <div ref={container} class="findable">
      <FindBar find={find} label="Find in the file" />
      <VirtualList
        handle={list}
        class="lines code"
        kind="list"
        label="Content"
        count={lines.length}
        rowHeight={LINE_HEIGHT}
      >
        {(index) => (
          <div class={isCurrent(index) ? 'line current' : 'line'}>
            <span class="line-number" data-number={index + 1} />
            <span class="line-text">{markOccurrences(lines[index] ?? '', find.query)}</span>
          </div>
        )}
      </VirtualList>
    </div>
  );
}

/** A newline at the end of the text does not start another line. */
function textLines(content: string): string[] {
  const lines = content.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
