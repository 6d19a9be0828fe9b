/** The links and buttons that open a list's rows. */
const ROWS = 'main :is(tbody th a, button.version-row)';
const TYPING = 'input, textarea, select, [contenteditable]';

/** Moves the focus to the page content, so that Tab continues there. */
export function focusMain(): void {
  const main = document.querySelector('main');
  if (main !== null) focusOn(main);
}

function focusOn(element: HTMLElement): void {
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

/** Whether the focus moves to the page heading when the page's code is loaded. */
let isHeadingAwaited = false;

/** Moves the focus to the page heading, so that a screen reader continues there. */
export function focusHeading(): void {
  const heading = document.querySelector<HTMLElement>('main h1');
  isHeadingAwaited = heading === null;
  if (heading === null) focusMain();
  else focusOn(heading);
}

export function focusAwaitedHeading(): void {
  if (isHeadingAwaited) focusHeading();
}

/**
 * Handles the keys on a page: `/` moves the focus to the search field, and `j` and `k` to the next and previous row.
 * Keys in a field or in a dialog, and keys with a modifier, keep their meaning.
 */
export function onShortcut(event: KeyboardEvent): void {
  const { key, defaultPrevented } = event;
  if (defaultPrevented || isTyping(event)) return;
  const focused = key === '/' ? searchField() : key === 'j' ? rowAt(1) : key === 'k' ? rowAt(-1) : undefined;
  if (focused === undefined) return;
  event.preventDefault();
  focused.focus();
}

/** Whether a key is text, or belongs to a dialog, the browser, or another program. */
export function isTyping({ target, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return (
    altKey ||
    ctrlKey ||
    metaKey ||
    !(target instanceof Element) ||
    target.closest(`${TYPING}, dialog`) !== null
  );
}

const searchField = () => document.querySelector<HTMLElement>('main input[type="search"]') ?? undefined;

/** Returns the row at a distance from the focused row. Without a focused row, the first row is next. */
function rowAt(distance: 1 | -1): HTMLElement | undefined {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)];
  const focused = rows.indexOf(document.activeElement as HTMLElement);
  return focused === -1 ? rows[0] : rows[focused + distance];
}
