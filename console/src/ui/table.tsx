import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Props {
  class?: string;
  /** Width in pixels that the columns need. A narrower table shows each row as a card. */
  minWidth: number;
  /** Titles of the columns. The column with the actions has an empty title. */
  columns: readonly string[];
  /** The rows. */
  children: ComponentChildren;
}

/** Table that shows its rows as cards while its container is too narrow for the columns. */
export function Table({ class: name = '', minWidth, columns, children }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const [areCards, setAreCards] = useState(false);
  useLayoutEffect(() => {
    const element = container.current;
    if (element === null) return;
    const measure = () => setAreCards(element.clientWidth < minWidth);
    const observer = new ResizeObserver(measure);
    measure();
    observer.observe(element);
    return () => observer.disconnect();
  }, [minWidth]);
  return (
    <div ref={container} class="table-scroll">
      <table class={areCards ? `${name} cards` : name}>
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
