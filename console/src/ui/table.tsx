import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Props {
  class?: string;
  /** Width in pixels below which each row is a card. Longer words and wider fonts need more. */
  minWidth: number;
  /** Titles of the columns. The column with the actions has an empty title. */
  columns: readonly string[];
  /** The rows. */
  children: ComponentChildren;
}

/** Table that shows its rows as cards while its container is too narrow for the columns. */
export function Table({ class: name = '', minWidth, columns, children }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const table = useRef<HTMLTableElement>(null);
  /** Width that the rows needed so far, in pixels. */
  const needed = useRef(minWidth);
  const [areCards, setAreCards] = useState(false);
  useLayoutEffect(() => {
    const { current: outer } = container;
    const { current: inner } = table;
    if (outer === null || inner === null) return;
    const measure = () => {
      // The widths may be rounded differently.
      if (inner.offsetWidth > outer.clientWidth + 1)
        needed.current = Math.max(needed.current, inner.offsetWidth);
      setAreCards(outer.clientWidth < needed.current);
    };
    const observer = new ResizeObserver(measure);
    measure();
    observer.observe(outer);
    observer.observe(inner);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={container} class="table-scroll">
      <table ref={table} class={areCards ? `${name} cards` : name}>
        <thead>
          <tr>
            {columns.map((title) => (
              <th key={title} scope="col">
                {title || <span class="visually-hidden">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
