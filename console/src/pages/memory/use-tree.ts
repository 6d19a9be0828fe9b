import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { changesMade } from '../../api/change-signals.ts';
import { type LoadedTree, START, TreeLoader } from './tree-loader.ts';

/** Maximum number of files in a memory whose directories open automatically. */
const SMALL = 200;

export interface UsedTree {
  loader: TreeLoader;
  state: LoadedTree;
}

/** Loads a memory's tree at a time, and opens the directories above the selected path. */
export function useTree(tenant: Tenant, at: string | null, path: string | null): UsedTree {
  const [state, setState] = useState(START);
  const loader = useMemo(() => new TreeLoader(tenant.id, setState), [tenant.id]);
  useLayoutEffect(() => {
    void loader.load({ at, isSmall: tenant.files <= SMALL, reveal: path });
    return () => loader.stop();
  }, [loader, at, changesMade.value]);
  useLayoutEffect(() => {
    if (path !== null) loader.reveal(path);
  }, [loader, path]);
  return { loader, state };
}
