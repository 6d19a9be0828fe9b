import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from '@tanstack/virtual-core';
import type { ComponentChildren, HTMLAttributes, Ref } from 'preact';
import { useEffect, useImperativeHandle, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';

export interface VirtualListHandle {
  /** @param align the row's position; by default, the list scrolls only if the row is not visible */
  scrollTo: (index: number, align?: 'auto' | 'start' | 'center') => void;
}

/** Elements by the kind of list. Tree rows set their ARIA roles themselves. */
const ELEMENTS = {
  // A `group` instead of a `region`, because the list is often most of an existing landmark.
  list: { role: 'group', List: 'ul', Item: 'li' },
  tree: { role: 'tree', List: 'div', Item: 'div' },
} as const;

interface Props extends Omit<HTMLAttributes<HTMLDivElement>, 'children' | 'ref'> {
  kind: keyof typeof ELEMENTS;
  label: string;
  count: number;
  /** Estimated height in pixels. A visible row is measured. */
  rowHeight: number;
  /** Identifies a row, so that rows added above the first visible row do not move it. The default is the index. */
  keyOf?: ((index: number) => string) | undefined;
  children: (index: number) => ComponentChildren;
  /** Called when the last row becomes visible. */
  onEnd?: (() => void) | undefined;
  handle?: Ref<VirtualListHandle>;
}

/** Scrolling list that only renders the visible rows. */
export function VirtualList({
  kind,
  label,
  count,
  rowHeight,
  keyOf,
  children,
  onEnd,
  handle,
  ...attributes
}: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, rerender] = useReducer((n: number) => n + 1, 0);
  const options = {
    count,
    estimateSize: () => rowHeight,
    getScrollElement: () => scroller.current,
    overscan: 12,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    measureElement,
    // At its top, the list shows rows added there.
    anchorTo: keyOf && (scroller.current?.scrollTop ?? 0) > 0 ? ('end' as const) : ('start' as const),
    ...(keyOf && { getItemKey: keyOf }),
    onChange: () => rerender(undefined),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  useImperativeHandle(
    handle ?? null,
    () => ({ scrollTo: (index, align = 'auto') => virtualizer.scrollToIndex(index, { align }) }),
    [],
  );

  const items = virtualizer.getVirtualItems();
  const isAtEnd = (items.at(-1)?.index ?? -1) === count - 1;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, onEnd]);

  const { role, List, Item } = ELEMENTS[kind];
  const named = { role, 'aria-label': label, tabIndex: 0 };
  return (
    <div ref={scroller} {...named} {...attributes} class={`virtual-list ${attributes.class ?? ''}`}>
      <List class="virtual-space" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {items.map(({ index, key, start }) => (
          <Item
            key={key}
            class="virtual-row"
            data-index={index}
            ref={virtualizer.measureElement}
            style={{ transform: `translateY(${start}px)` }}
          >
            {children(index)}
          </Item>
        ))}
      </List>
    </div>
  );
}
