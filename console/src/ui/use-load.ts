import { useCallback, useEffect, useState } from 'preact/hooks';
import { isAborted, messageOf } from '../api/client.ts';

export interface Loaded<T> {
  /** Of the last load that succeeded; kept while the next one runs. */
  data: T | undefined;
  error: unknown;
  isLoading: boolean;
  reload: () => void;
}

/**
 * Loads something now, and again when `dependencies` change. A load that is no longer wanted is aborted.
 *
 * @param load throws what the page should say
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    data: undefined,
    error: undefined,
    isLoading: true,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    setState((previous) => ({ ...previous, isLoading: true }));
    load(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, error: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (!controller.signal.aborted && !isAborted(error)) {
          setState({ data: undefined, error, isLoading: false });
        }
      },
    );
    return () => controller.abort();
  }, [...dependencies, round]);
  return { ...state, reload: useCallback(() => setRound((n) => n + 1), []) };
}

export interface Action {
  isRunning: boolean;
  error: string | null;
  run: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>;
  clear: () => void;
}

/** Something that a person starts. It is aborted when its component goes away. */
export function useAction(): Action {
  const [state, setState] = useState<{ isRunning: boolean; error: string | null }>(IDLE);
  const [controller] = useState(() => new AbortController());
  useEffect(() => () => controller.abort(), []);
  const run = useCallback(async (work: (signal: AbortSignal) => Promise<void>) => {
    setState({ isRunning: true, error: null });
    try {
      await work(controller.signal);
      setState(IDLE);
    } catch (error) {
      setState({ isRunning: false, error: isAborted(error) ? null : messageOf(error) });
    }
  }, []);
  return { ...state, run, clear: useCallback(() => setState(IDLE), []) };
}

const IDLE = { isRunning: false, error: null };
