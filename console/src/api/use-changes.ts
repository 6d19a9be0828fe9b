import { focusManager } from '@tanstack/query-core';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, authorizationHeaders, noteError, type Problem, readProblem, toUrl } from './api-client.ts';
import { delay } from './retry.ts';

/** Time in which several changes are reported as one. */
const GATHER_MS = 200;
/** Rest after a report that failed. */
const FAILED_REST_MS = 5000;
/** Delays before another connection. */
const RETRY_MS = { min: 1000, max: 60_000 };
/** Maximum time without a byte. The service sends a comment every 15 seconds. */
const SILENCE_MS = 45_000;

interface Options {
  /** Minimum time between two reports. */
  restMs: number;
  /**
   * Called after changes, and after each connection, because earlier changes may have been missed. Errors are ignored.
   *
   * @param isStart whether the only reason is the first connection
   */
  onChange: (signal: AbortSignal, isStart: boolean) => void | Promise<void>;
}

/**
 * Follows changes by anyone while the page is visible.
 *
 * @param path a route with a live stream, below `v1/`; null follows nothing
 */
export function useChanges(path: string | null, options: Options): void {
  const isVisible = useVisibility();
  const latest = useRef(options);
  latest.current = options;
  const started = useRef<string>(undefined);
  useEffect(() => {
    if (path === null || !isVisible) return;
    const controller = new AbortController();
    const { signal } = controller;
    const report = createReporter(async (isStart) => {
      await latest.current.onChange(signal, isStart);
      return latest.current.restMs;
    }, signal);
    const note = (isChange: boolean) => {
      report(!isChange && started.current !== path);
      started.current = path;
    };
    void follow(path, note, signal);
    return () => controller.abort();
  }, [path, isVisible]);
}

function useVisibility(): boolean {
  const [isVisible, setIsVisible] = useState(focusManager.isFocused());
  useEffect(() => focusManager.subscribe(setIsVisible), []);
  return isVisible;
}

/**
 * Returns a function that runs `work` soon after a call. Calls until the end of the rest cause one further run.
 *
 * @param work returns the rest in milliseconds
 */
function createReporter(
  work: (isStart: boolean) => Promise<number>,
  signal: AbortSignal,
): (isStart: boolean) => void {
  let waiting: { isStart: boolean } | undefined;
  let isRunning = false;
  const run = async () => {
    for (isRunning = true; waiting !== undefined; ) {
      await delay(GATHER_MS, signal);
      const { isStart } = waiting;
      waiting = undefined;
      await delay(await work(isStart).catch(() => FAILED_REST_MS), signal);
    }
    isRunning = false;
  };
  return (isStart) => {
    waiting = { isStart: isStart && (waiting?.isStart ?? true) };
    if (!isRunning) run().catch(() => {});
  };
}

/** Receives a change, or a connection. */
type Note = (isChange: boolean) => void;

/** Connects until the signal aborts. */
async function follow(path: string, note: Note, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    const noteSuccess: Note = (isChange) => {
      failures = 0;
      note(isChange);
    };
    // The next connection reports the changes in between. An error for an invalid key has ended the session.
    await receive(path, noteSuccess, signal).catch(() => {});
    const delayMs = Math.min(RETRY_MS.min * 2 ** failures, RETRY_MS.max);
    await delay(delayMs * (0.5 + Math.random() / 2), signal).catch(() => {});
  }
}

/**
 * Notes the connection, and each change, until the stream ends.
 *
 * @throws ApiError when the response is an error, or the stream ends with one
 */
async function receive(path: string, note: Note, signal: AbortSignal): Promise<void> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const noteSign = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
  };
  noteSign();
  try {
    const response = await fetch(toUrl(path, { after: 'now' }), {
      headers: { ...authorizationHeaders(), accept: 'text/event-stream' },
      signal: AbortSignal.any([signal, silence.signal]),
      cache: 'no-store',
      credentials: 'same-origin',
    });
    if (!response.ok) throw noteError(new ApiError(response.status, await readProblem(response)));
    note(false);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
      noteSign();
      const events = (rest + next.value).split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const [, data] = /^data: (.*)$/m.exec(event) ?? [];
        // A comment, or only a position.
        if (data === undefined) continue;
        if (/^event: problem$/m.test(event)) throw noteProblem(JSON.parse(data));
        note(true);
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

const noteProblem = (problem: Problem & { status: number }) =>
  noteError(new ApiError(problem.status, problem));
