import type { RefObject } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatNumber } from '../text/format.ts';
import { IconButton } from './icon-button.tsx';
import { useDebounced } from './use-debounced.ts';

/** Search state for lines. The browser's search only finds the lines on the screen, because no others are rendered. */
export interface Find {
  isOpen: boolean;
  open: () => void;
  close: () => void;
  input: string;
  setInput: (input: string) => void;
  /** The searched text in lower case; empty without a search. */
  query: string;
  /** Indexes of the lines that contain the text. */
  matches: readonly number[];
  /** The current match's position in `matches`. */
  at: number;
  step: (direction: 1 | -1) => void;
  field: RefObject<HTMLInputElement | null>;
  /** Element around the text. Ctrl+F opens the search while the element is on the page. */
  container: RefObject<HTMLDivElement | null>;
}

/**
 * @param texts each line's text, on the first search only
 * @param show called with the index of the current match
 * @param onOpen called before the search opens
 */
export function useFind(
  texts: () => readonly string[],
  show?: (index: number) => void,
  onOpen?: () => void,
): Find {
  /** Number of times that the field was opened since it was closed. */
  const [openings, setOpenings] = useState(0);
  const isOpen = openings > 0;
  const [input, setInput] = useState('');
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const query = useDebounced(isOpen ? input : '', 100).toLowerCase();
  const matches = useMemo(() => {
    if (query === '') return [];
    return texts().flatMap((text, index) => (text.toLowerCase().includes(query) ? [index] : []));
  }, [query, texts]);
  const go = (position: number) => {
    setAt(position);
    const row = matches[position];
    if (row !== undefined) show?.(row);
  };
  useLayoutEffect(() => go(0), [matches]);
  // A layout effect moves the focus before the next key press. In some browsers, `select` alone does not move it.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [openings]);
  const open = () => {
    onOpen?.();
    setOpenings(openings + 1);
  };
  const container = useRef<HTMLDivElement>(null);
  const latest = useRef(open);
  latest.current = open;
  useLayoutEffect(() => {
    const { current: element } = container;
    if (element === null) return;
    const findable = { element, open: () => latest.current() };
    findables.push(findable);
    return () => void findables.splice(findables.indexOf(findable), 1);
  }, []);
  return {
    isOpen,
    open,
    close: () => setOpenings(0),
    input,
    setInput,
    query,
    matches,
    at,
    step: (direction) => go((at + direction + matches.length) % Math.max(1, matches.length)),
    field,
    container,
  };
}

interface Findable {
  element: Element;
  open: () => void;
}

/** Texts on the page, the latest last. Ctrl+F searches the text nearest to the window's middle. */
const findables: Findable[] = [];

function distanceToMiddle({ element }: Findable): number {
  const { top, bottom } = element.getBoundingClientRect();
  return Math.max(top - innerHeight / 2, innerHeight / 2 - bottom, 0);
}

addEventListener('keydown', (event) => {
  // An editor has its own search.
  if (event.defaultPrevented) return;
  if (event.key.toLowerCase() !== 'f' || event.altKey || event.shiftKey || !(event.ctrlKey || event.metaKey))
    return;
  const dialog = [...document.querySelectorAll('dialog[open]')].at(-1) ?? null;
  const [found] = findables
    .filter(({ element }) => element.checkVisibility() && element.closest('dialog') === dialog)
    .reverse()
    .sort((a, b) => distanceToMiddle(a) - distanceToMiddle(b));
  // A second Ctrl+F opens the browser's search.
  if (found === undefined || found.element.querySelector('.find-bar :focus') !== null) return;
  event.preventDefault();
  found.open();
});

/** Search field, with the number of matches and buttons for the next and previous match. */
export function FindBar({ find, label }: { find: Find; label: string }) {
  const { input, setInput, query, matches, at, step, close, field } = find;
  if (!find.isOpen) return null;
  return (
    <search class="row find-bar">
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder="Find"
        value={input}
        onInput={(event) => setInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
          else if (event.key === 'Escape') close();
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <output class="small">
        {query === ''
          ? ''
          : matches.length === 0
            ? 'No match'
            : `${formatNumber(at + 1)} of ${formatNumber(matches.length)}`}
      </output>
      <IconButton
        icon="up"
        label="Previous match"
        title="Previous match (Shift+Enter)"
        onClick={() => step(-1)}
      />
      <IconButton icon="down" label="Next match" title="Next match (Enter)" onClick={() => step(1)} />
      <IconButton icon="close" label="Close the search" title="Close (Escape)" onClick={close} />
    </search>
  );
}

/** Returns the positions at which a query occurs in a text. The query is in lower case. */
export function findOccurrences(text: string, query: string): number[] {
  const lower = query === '' ? '' : text.toLowerCase();
  // In lower case, a few letters are longer, which would move the marks.
  if (query === '' || lower.length !== text.length) return [];
  const positions: number[] = [];
  for (let at = lower.indexOf(query); at !== -1; at = lower.indexOf(query, at + query.length))
    positions.push(at);
  return positions;
}
