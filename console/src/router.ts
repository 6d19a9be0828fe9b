import { computed, signal } from '@preact/signals';

/** The page's place is the fragment of its address, which browsers send to no server and no log keeps. */
export interface Route {
  segments: string[];
  query: URLSearchParams;
}

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
});

export const route = computed(() => parseRoute(hash.value));

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
  location.hash = href;
}

/** Changes the query of the current place, without a step to go back to. */
export function replaceQuery(changes: QueryValues): void {
  const { segments, query } = route.value;
  const href = hrefOf(segments, { ...Object.fromEntries(query), ...changes });
  history.replaceState(null, '', href);
  hash.value = href;
}
