import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { changesMade } from '../../api/change-signals.ts';
import { queries } from '../../api/queries.ts';
import { type LoadedTree, TreeLoader } from './tree-loader.ts';

/** Maximum number of files in a memory whose directories open automatically. */
const SMALL = 200;

export interface UsedTree {
  loader: TreeLoader;
  state: LoadedTree;
}

/**
 * Loads a memory's tree at a time, and opens the directories above the selected path. After the page is closed, the tree
 * is kept as long as other results.
 */
export function useTree(tenant: Tenant, at: string | null, path: string | null): UsedTree {
  const key = ['tree', tenant.id];
  const loader = useMemo(
    () => queries.getQueryData<TreeLoader>(key) ?? new TreeLoader(tenant.id),
    [tenant.id],
  );
  const [state, setState] = useState(loader.state);
  useLayoutEffect(() => {
    loader.onChange = setState;
    queries.setQueryData(key, loader);
    void loader.load({ at, isSmall: tenant.files <= SMALL, reveal: path });
    return () => loader.stop();
  }, [loader, at, changesMade.value]);
  useLayoutEffect(() => {
    if (path !== null) loader.reveal(path);
  }, [loader, path]);
  return { loader, state };
}
