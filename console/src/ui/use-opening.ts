import { useEffect } from 'preact/hooks';
import { replaceQuery } from '../router.ts';

/** Opens a dialog that `new` in the URL asks for, and removes `new`, so that Back does not open the dialog again. */
export function useOpening(query: URLSearchParams, open: () => void): void {
  const isAsked = query.has('new');
  useEffect(() => {
    if (!isAsked) return;
    open();
    void replaceQuery({ new: null });
  }, [isAsked]);
}
