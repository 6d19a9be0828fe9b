import { lazy } from '../../ui/lazy.tsx';

/** Loaded when it opens, because its preview needs the code for differences. */
export const RestoreDialog = lazy(
  'the changes',
  async () => (await import('./restore-dialog.tsx')).RestoreDialog,
);
