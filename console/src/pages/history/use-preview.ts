import { useState } from 'preact/hooks';
import { ApiError } from '../../api/api-client.ts';
import type { Changes } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { type Action, useAction, useLoad } from '../../ui/use-load.ts';

export interface Preview {
  changes: Changes | undefined;
  error: unknown;
  isLoading: boolean;
  /** The confirmed preview, if it was outdated when the user confirmed it. */
  stale: Changes | null;
  action: Action;
  apply: () => Promise<void>;
}

interface Options {
  load: (signal: AbortSignal) => Promise<Changes>;
  dependencies: readonly unknown[];
  /** Applies the plan. Throws an `ApiError` with status 412 if the memory changed since the preview. */
  apply: (plan: string) => Promise<Changes>;
  onDone: (changes: Changes) => void;
}

/**
 * Previews a change, then applies exactly the previewed change. If the memory changed in between, loads a new preview.
 */
export function usePreview({ load, dependencies, apply, onDone }: Options): Preview {
  const action = useAction();
  const [rejected, setRejected] = useState<{ changes: Changes; of: string } | null>(null);
  const of = JSON.stringify(dependencies);
  const { data, error, isLoading, reload } = useLoad(load, dependencies);
  const run = () =>
    action.run(async () => {
      if (data === undefined) return;
      try {
        const done = await apply(data.plan);
        noteChange();
        onDone(done);
      } catch (cause) {
        if (!(cause instanceof ApiError) || cause.status !== 412) throw cause;
        setRejected({ changes: data, of });
        reload();
      }
    });
  const stale = rejected?.of === of ? rejected.changes : null;
  return { changes: data, error, isLoading, stale, action, apply: run };
}
