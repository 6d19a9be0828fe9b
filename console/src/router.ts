import { computed, signal } from '@preact/signals';

/**
 * A console page. The route is in the URL fragment, which browsers never send to a server, so no log contains it.
 */
export interface Route {
  segments: string[];
  query: URLSearchParams;
}

const hash = signal(location.hash);

export const route = computed(() => parseRoute(hash.value));

/** Asks before navigation discards unsaved input. */
export interface LeaveGuard {
  /** Whether the navigation would discard unsaved input. */
  isNeeded: (to: Route) => boolean;
  /** Asks the user. Returns whether the navigation may continue. */
  ask: (to: Route) => Promise<boolean>;
}

let leaveGuard: LeaveGuard | null = null;

/** @param guard null if there is no unsaved input */
export function guardLeaving(guard: LeaveGuard | null): void {
  leaveGuard = guard;
}

/** Returns the question to ask before navigating to `href`, or null if no question is needed. */
function findLeaveGuard(href: string): (() => Promise<boolean>) | null {
  const guard = leaveGuard;
  const to = parseRoute(href);
  return guard?.isNeeded(to) ? () => guard.ask(to) : null;
}

/** The current entry's index in the session history. The router uses the index to revert a canceled step. */
let position = readPosition() ?? 0;
history.replaceState({ position }, '');
/** Whether the next `popstate` event only returns to the current page, so the guard must not ask again. */
let isTakingBack = false;

// The console scrolls itself, because a page has no height until it has loaded.
history.scrollRestoration = 'manual';

/** Identifies the current session history entry and its URL. */
export const entryKey = () => `${position} ${hash.value}`;

addEventListener('popstate', async () => {
  // An entry without a position is new: the user followed a link, or typed the URL.
  if (readPosition() === null) history.replaceState({ position: position + 1 }, '');
  const steps = (readPosition() ?? 0) - position;
  const mayLeave = findLeaveGuard(location.hash);
  if (isTakingBack || mayLeave === null || location.hash === hash.value) {
    isTakingBack = false;
    arrive();
    return;
  }
  isTakingBack = true;
  history.go(-steps);
  if (await mayLeave()) history.go(steps);
});

function arrive(): void {
  position = readPosition() ?? 0;
  hash.value = location.hash;
}

function readPosition(): number | null {
  const state: unknown = history.state;
  return typeof state === 'object' && state !== null && 'position' in state ? Number(state.position) : null;
}

function parseRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { segments: path.split('/').filter(Boolean).map(decodeSegment), query: new URLSearchParams(query) };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A percent sign in a typed URL may not begin a valid escape. The segment is then used unchanged.
    return segment;
  }
}

export type QueryValues = Record<string, string | number | null | undefined>;

export function toHref(segments: string[], query: QueryValues = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const path = segments.map(encodeURIComponent).join('/');
  return parameters.size === 0 ? `#/${path}` : `#/${path}?${parameters}`;
}

export function goTo(href: string): void {
  void go(href, 'push');
}

/** Navigates and replaces the current history entry, for example after its page was deleted. */
export function replacePlace(href: string): void {
  void go(href, 'replace');
}

/** Changes the current route's query and adds a history entry. */
export function pushQuery(changes: QueryValues): void {
  void go(withQuery(changes), 'push');
}

/**
 * Changes the current route's query and replaces the history entry. Returns false if a guard prevents the change.
 */
export function replaceQuery(changes: QueryValues): Promise<boolean> {
  return go(withQuery(changes), 'replace');
}

function withQuery(changes: QueryValues): string {
  const { segments, query } = route.value;
  return toHref(segments, { ...Object.fromEntries(query), ...changes });
}

async function go(href: string, how: 'push' | 'replace'): Promise<boolean> {
  if (href === hash.value) return true;
  const mayLeave = findLeaveGuard(href);
  if (mayLeave !== null && !(await mayLeave())) return false;
  if (how === 'push') history.pushState({ position: position + 1 }, '', href);
  else history.replaceState({ position }, '', href);
  arrive();
  return true;
}
