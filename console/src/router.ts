import { computed, signal } from '@preact/signals';

/** The page's place is the fragment of its address, which browsers send to no server and no log keeps. */
export interface Route {
  segments: string[];
  query: URLSearchParams;
}

const hash = signal(location.hash);

export const route = computed(() => parseRoute(hash.value));

/** Guards what going elsewhere would lose. */
export interface LeaveGuard {
  /** Whether anything would be lost at a place. */
  isNeeded: (to: Route) => boolean;
  /** Asks, and says whether the page may go there. */
  ask: (to: Route) => Promise<boolean>;
}

let leaveGuard: LeaveGuard | null = null;

/** Null while there is nothing to ask about. */
export function guardLeaving(guard: LeaveGuard | null): void {
  leaveGuard = guard;
}

/** What asks before the page goes to a place, if anything does. */
function guardOf(href: string): (() => Promise<boolean>) | null {
  const guard = leaveGuard;
  const to = parseRoute(href);
  return guard?.isNeeded(to) ? () => guard.ask(to) : null;
}

/** Where the current entry is in the session's history, so that a step that is not wanted can be taken back. */
let position = readPosition() ?? 0;
history.replaceState({ position }, '');
/** A step back to where the page still is, which asks nothing. */
let isTakingBack = false;

addEventListener('popstate', async () => {
  // A new entry, from a link or typed by hand.
  if (readPosition() === null) history.replaceState({ position: position + 1 }, '');
  const steps = (readPosition() ?? 0) - position;
  const mayLeave = guardOf(location.hash);
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
  return { segments: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // Typed by hand: a percent sign that begins no escape stands for itself.
    return segment;
  }
}

export type QueryValues = Record<string, string | number | null | undefined>;

/** The address of a place, for links. */
export function hrefOf(segments: string[], query: QueryValues = {}): string {
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

/** Goes to a place without a step back to the current one, which is gone. */
export function replacePlace(href: string): void {
  void go(href, 'replace');
}

/** Changes the query of the current place as a step of its own, which Back takes back. */
export function pushQuery(changes: QueryValues): void {
  void go(withQuery(changes), 'push');
}

/** Changes the query of the current place, without a step to go back to. Says whether it did: a guard may refuse. */
export function replaceQuery(changes: QueryValues): Promise<boolean> {
  return go(withQuery(changes), 'replace');
}

function withQuery(changes: QueryValues): string {
  const { segments, query } = route.value;
  return hrefOf(segments, { ...Object.fromEntries(query), ...changes });
}

async function go(href: string, how: 'push' | 'replace'): Promise<boolean> {
  if (href === hash.value) return true;
  const mayLeave = guardOf(href);
  if (mayLeave !== null && !(await mayLeave())) return false;
  if (how === 'push') history.pushState({ position: position + 1 }, '', href);
  else history.replaceState({ position }, '', href);
  arrive();
  return true;
}
