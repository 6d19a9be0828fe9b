import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isAborted } from '../../api/api-client.ts';
import { type JobOutcome, listOutcomes } from '../../api/incidents-api.ts';

const PAGE = 200;

/** A page with the tenants that failed or have conflicts, which are listed first, or with the other tenants. */
interface Next {
  left: boolean;
  after: string | null;
}

interface State {
  outcomes: JobOutcome[];
  /** Number of matching tenants, on all pages. */
  total: number;
  /** Null on the last page. */
  next: Next | null;
}

export interface Outcomes {
  /** Undefined before the first page. */
  outcomes: JobOutcome[] | undefined;
  total: number;
  error: unknown;
  /** Loads the next page; undefined on the last page. */
  more: (() => void) | undefined;
  reload: () => void;
}

/**
 * Loads a job's outcomes page by page. While the job runs, the first page is loaded again after each `round`, until the
 * user loads more pages. When the job ends, all these pages are loaded again.
 */
export function useOutcomes(job: string, search: string, round: number, isRunning: boolean): Outcomes {
  const [state, setState] = useState<State>();
  const [error, setError] = useState<unknown>();
  const [attempt, setAttempt] = useState(0);
  const controller = useRef(new AbortController());
  const shown = useRef<State>(undefined);
  shown.current = state;

  const load = useCallback(async (read: (signal: AbortSignal) => Promise<State>) => {
    controller.current.abort();
    controller.current = new AbortController();
    const { signal } = controller.current;
    try {
      const loaded = await read(signal);
      if (signal.aborted) return;
      setState(loaded);
      setError(undefined);
    } catch (cause) {
      if (!signal.aborted && !isAborted(cause)) setError(cause);
    }
  }, []);
  useLayoutEffect(() => setState(undefined), [job, search]);
  useLayoutEffect(() => {
    const count = shown.current?.outcomes.length ?? 0;
    if (isRunning && count > PAGE) return;
    void load((signal) => firstPages(job, search, count, signal));
  }, [load, job, search, isRunning ? round : -1, isRunning, attempt]);
  useEffect(() => () => controller.current.abort(), []);

  const more = useCallback(() => {
    if (state !== undefined) void load((signal) => loadNextPage(job, search, state, signal));
  }, [job, search, state]);
  return {
    outcomes: state?.outcomes,
    total: state?.total ?? 0,
    error,
    more: state === undefined || state.next === null ? undefined : more,
    reload: useCallback(() => setAttempt((n) => n + 1), []),
  };
}

/** Loads at least `count` outcomes, if there are so many. */
async function firstPages(job: string, search: string, count: number, signal: AbortSignal): Promise<State> {
  const [left, others] = await Promise.all(
    [true, false].map((isLeft) => listOutcomes(job, { search, left: isLeft, limit: PAGE }, signal)),
  );
  if (left === undefined || others === undefined) throw new Error('Both pages are requested.');
  const total = left.total + others.total;
  let state: State =
    left.next === null
      ? { outcomes: [...left.tenants, ...others.tenants], total, next: nextRequest(false, others.next) }
      : { outcomes: left.tenants, total, next: nextRequest(true, left.next) };
  while (state.next !== null && state.outcomes.length < count)
    state = await loadNextPage(job, search, state, signal);
  return state;
}

async function loadNextPage(job: string, search: string, state: State, signal: AbortSignal): Promise<State> {
  const { outcomes, total, next } = state;
  if (next === null) return state;
  const page = await listOutcomes(job, { search, ...next, limit: PAGE }, signal);
  return { outcomes: [...outcomes, ...page.tenants], total, next: nextRequest(next.left, page.next) };
}

/** The other tenants follow the last page with the tenants that are listed first. */
const nextRequest = (left: boolean, after: string | null): Next | null =>
  after !== null ? { left, after } : left ? { left: false, after: null } : null;
