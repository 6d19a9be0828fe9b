import { useEffect, useState } from 'preact/hooks';
import { changesMade } from '../../api/changes.ts';
import { isAborted } from '../../api/client.ts';
import { readTree } from '../../api/memory.ts';
import type { Entry } from '../../api/types.ts';
import { type Tree, treeOf } from './tree.ts';

export interface LoadedTree {
  tree: Tree | undefined;
  redacted: number;
  error: unknown;
  isLoading: boolean;
}

const START: LoadedTree = { tree: undefined, redacted: 0, error: undefined, isLoading: true };

/**
 * The whole tree of a memory at a time. The first tree is shown page by page as it comes; a later one replaces it at once, so that the
 * view does not jump while the slider moves.
 */
export function useTree(tenant: string, at: string | null): LoadedTree {
  const [state, setState] = useState(START);
  useEffect(() => {
    const { signal, abort } = abortable();
    setState((previous) => ({ ...previous, isLoading: true }));
    void load(tenant, at, signal, setState);
    return abort;
  }, [tenant, at, changesMade.value]);
  return state;
}

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

async function load(
  tenant: string,
  at: string | null,
  signal: AbortSignal,
  setState: (update: (previous: LoadedTree) => LoadedTree) => void,
): Promise<void> {
  const entries: Entry[] = [];
  let isFirst = false;
  setState((previous) => {
    isFirst = previous.tree === undefined;
    return previous;
  });
  try {
    for (let after: string | null = null, isDone = false; !isDone; ) {
      const page = await readTree(tenant, at, after, signal);
      entries.push(...page.entries);
      after = page.next;
      isDone = after === null;
      if (isDone || isFirst) {
        const tree = treeOf(entries);
        setState(() => ({ tree, redacted: page.redacted ?? 0, error: undefined, isLoading: !isDone }));
      }
    }
  } catch (error) {
    if (!isAborted(error)) setState(() => ({ tree: undefined, redacted: 0, error, isLoading: false }));
  }
}
