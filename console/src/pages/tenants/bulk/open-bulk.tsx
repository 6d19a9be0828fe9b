import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { session, signedOutBecause } from '../../../api/session-state.ts';
import { route, toHref } from '../../../router.ts';
import type { BulkProps } from './bulk-dialog.tsx';
import type { Targets } from './targets.ts';

interface OpenBulk {
  Dialog: ComponentType<BulkProps>;
  targets: Targets;
}

/** The open dialog for an action on several tenants. */
export const openBulk = signal<OpenBulk | null>(null);

/** Number of finished actions on several tenants. After each action, the tenant list loads again. */
export const finishedBulks = signal(0);

function close(): void {
  openBulk.value = null;
}

/**
 * Renders the dialog for an action on several tenants. The dialog is above the pages, because its outcomes, new keys,
 * and archives must survive the session's end: after the next sign-in, the dialog continues.
 */
export function BulkHost() {
  const page = toHref(route.value.segments);
  useEffect(() => close, [page]);
  const isSignedOut = session.value === null && signedOutBecause.value === null;
  useEffect(() => {
    if (isSignedOut) close();
  }, [isSignedOut]);
  if (openBulk.value === null) return null;
  const { Dialog, targets } = openBulk.value;
  return (
    <Dialog
      targets={targets}
      onClose={close}
      onDone={() => {
        finishedBulks.value++;
      }}
    />
  );
}
