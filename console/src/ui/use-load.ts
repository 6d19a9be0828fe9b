import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { errorMessage, isAborted } from '../api/api-client.ts';
import { dismissDone } from './toasts.ts';

export interface Loaded<T> {
  /** Result from the last successful load, kept while the next load runs. */
  data: T | undefined;
  error: unknown;
  isLoading: boolean;
  reload: Reload;
}

/** Loads again. Resolves when that load ends, so a dialog can close after its change is shown. */
export type Reload = () => Promise<void>;

/**
 * Loads data now, and again when `dependencies` change. A superseded load is aborted.
 *
 * @param load throws an error whose message is shown to the user
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
): Loaded<T> {
  const { round, reload, endReload } = useReload();
  const wanted = useMemo(() => ({}), [...dependencies, round]);
  const [state, setState] = useState<State<T>>({ data: undefined, error: undefined, of: null });
  useLayoutEffect(() => {
    const controller = new AbortController();
    load(controller.signal).then(
      (data) => {
        if (controller.signal.aborted) return;
        setState({ data, error: undefined, of: wanted });
        endReload();
      },
      (error: unknown) => {
        if (controller.signal.aborted || isAborted(error)) return;
        setState({ data: undefined, error, of: wanted });
        endReload();
      },
    );
    return () => controller.abort();
  }, [wanted]);
  const { data, error, of } = state;
  return { data, error, isLoading: of !== wanted, reload };
}

/** Counts reloads, and resolves their promises when the newest load ends. */
export function useReload(): { round: number; reload: Reload; endReload: () => void } {
  const [round, setRound] = useState(0);
  const waiting = useRef<(() => void)[]>([]);
  const reload = useCallback(() => {
    setRound((n) => n + 1);
    return new Promise<void>((resolve) => waiting.current.push(resolve));
  }, []);
  const endReload = useCallback(() => {
    for (const resolve of waiting.current.splice(0)) resolve();
  }, []);
  return { round, reload, endReload };
}

interface State<T> extends Pick<Loaded<T>, 'data' | 'error'> {
  /** The load that produced the result. If it is not the wanted load, the wanted load is running. */
  of: object | null;
}

export interface Action {
  isRunning: boolean;
  error: string | null;
  run: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>;
  clear: () => void;
}

/** Runs an action that the user starts. Unmounting the component aborts the action. */
export function useAction(): Action {
  const [state, setState] = useState<{ isRunning: boolean; error: string | null }>(IDLE);
  const [controller] = useState(() => new AbortController());
  useLayoutEffect(() => () => controller.abort(), []);
  const run = useCallback(async (work: (signal: AbortSignal) => Promise<void>) => {
    dismissDone();
    setState({ isRunning: true, error: null });
    try {
      await work(controller.signal);
      setState(IDLE);
    } catch (error) {
      setState({ isRunning: false, error: isAborted(error) ? null : errorMessage(error) });
    }
  }, []);
  return { ...state, run, clear: useCallback(() => setState(IDLE), []) };
}

const IDLE = { isRunning: false, error: null };
