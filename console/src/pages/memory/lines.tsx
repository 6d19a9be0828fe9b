import { useEffect, useMemo, useRef } from 'preact/hooks';
import { visible } from '../../text/visible.tsx';
import { Empty } from '../../ui/messages.tsx';
import { VirtualList, type VirtualListHandle } from '../../ui/virtual-list.tsx';

const LINE_HEIGHT = 21;

export function Lines({ content, line }: { content: string; line: number | null }) {
  const lines = useMemo(() => linesOf(content), [content]);
  const list = useRef<VirtualListHandle>(null);
  useEffect(() => {
    if (line !== null) list.current?.scrollTo(line - 1);
  }, [line]);
  if (content === '') return <Empty title="This file is empty" />;
  return (
    <VirtualList
      handle={list}
      class="lines code"
      kind="list"
      label="Content"
      count={lines.length}
      rowHeight={LINE_HEIGHT}
    >
      {(index) => (
        <div class={index + 1 === line ? 'line current' : 'line'}>
          <span class="line-number" data-number={index + 1} />
          <span class="line-text">{visible(lines[index] ?? '')}</span>
        </div>
      )}
    </VirtualList>
  );
}

/** A newline at the end of the text does not start another line. */
function linesOf(content: string): string[] {
  const lines = content.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
