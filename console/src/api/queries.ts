import { effect } from '@preact/signals';
import { QueryClient } from '@tanstack/query-core';
import { session } from './session-state.ts';

/** Time that the result of a closed view is kept. */
const KEPT_MS = 10 * 60_000;

/**
 * Results that views have loaded, so that a view that opens again shows its last result immediately. They are only in this
 * page's memory, and the end of the session removes them.
 */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      gcTime: KEPT_MS,
      networkMode: 'always',
      refetchOnWindowFocus: false,
      retry: false,
      structuralSharing: false,
    },
  },
});
// Results that are loaded at an interval are also loaded when the page becomes visible.
queries.mount();

effect(() => {
  if (session.value === null) queries.clear();
});

/** First part of the keys for results that a change loads again. */
export const KEPT = 'kept';
