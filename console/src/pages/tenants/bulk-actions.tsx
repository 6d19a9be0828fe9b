import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError } from '../../api/api-client.ts';
import type { Tenant } from '../../api/api-types.ts';
import { canManage } from '../../api/session-state.ts';
import {
  deleteTenant,
  deletion,
  setSuspended,
  suspension,
  type TenantQuery,
  type TenantTotals,
} from '../../api/tenants-api.ts';
import { count, formatNumber } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/fields.tsx';
import { ExportDialog } from '../archive/export-dialog.tsx';
import { BulkDialog, type BulkProps } from './bulk/bulk-dialog.tsx';
import { KeysDialog } from './bulk/keys-dialog.tsx';
import { LimitsDialog } from './bulk/limits-dialog.tsx';
import { MountDialog } from './bulk/mount-dialog.tsx';
import { openBulk } from './bulk/open-bulk.tsx';
import { chosenTargets, matchingTargets, type Targets } from './bulk/targets.ts';
import type { Selection } from './use-selection.ts';

interface Props {
  selection: Selection;
  /** Tenants that the list shows. */
  listed: Tenant[];
  filter: TenantQuery;
  totals: TenantTotals | null;
}

type Kind = 'mount' | 'keys' | 'limits' | 'export' | 'suspend' | 'resume' | 'delete';

const DIALOGS: Record<Kind, ComponentType<BulkProps>> = {
  mount: MountDialog,
  keys: KeysDialog,
  limits: LimitsDialog,
  export: ExportDialog,
  suspend: statusDialog(true),
  resume: statusDialog(false),
  delete: DeleteDialog,
};

/** Actions on the selected tenants. Each action asks for confirmation. */
export function BulkActions({ selection, listed, filter, totals }: Props) {
  const { tenants, isAllMatching } = selection;
  const isAll = isAllMatching && totals !== null;
  const targets = isAll ? matchingTargets(filter, totals, listed) : chosenTargets(tenants);
  const isAny = (isSuspended: boolean) =>
    isAll || tenants.some(({ status }) => (status === 'suspended') === isSuspended);
  const open = (kind: Kind) => {
    openBulk.value = { Dialog: DIALOGS[kind], targets };
  };
  return (
    <section class="bulk sticks" aria-label="Selected tenants">
      <strong>{formatNumber(targets.count)} selected</strong>
      {!isAll && tenants.length < listed.length && (
        <Button text="Select all shown" class="quiet" onClick={() => selection.set(listed)} />
      )}
      {!isAll && totals !== null && totals.tenants > listed.length && (
        <Button
          text={`Select all ${formatNumber(totals.tenants)} matching`}
          class="quiet"
          onClick={selection.setAllMatching}
        />
      )}
      <Button text="Clear" class="quiet" onClick={() => selection.set([])} />
      <span class="line-break" />
      {canManage.value && (
        <>
          <Button text="Mount…" onClick={() => open('mount')} />
          <Button text="New keys…" onClick={() => open('keys')} />
        </>
      )}
      <Button text="Change settings…" onClick={() => open('limits')} />
      <Button text="Export…" onClick={() => open('export')} />
      <Button text="Suspend…" disabled={!isAny(false)} onClick={() => open('suspend')} />
      <Button text="Resume…" disabled={!isAny(true)} onClick={() => open('resume')} />
      {canManage.value && <Button text="Delete…" class="danger-quiet" onClick={() => open('delete')} />}
    </section>
  );
}

/** Leaves out tenants that are already in the wanted state, if all tenants are known. */
function onlyIf(targets: Targets, isSuspended: boolean): Targets {
  return targets.isAllMatching
    ? targets
    : chosenTargets(targets.examples.filter(({ status }) => (status === 'suspended') === isSuspended));
}

/** Returns the dialog that suspends or resumes tenants. */
function statusDialog(suspends: boolean) {
  return ({ targets, ...props }: BulkProps) => (
    <BulkDialog
      {...props}
      targets={onlyIf(targets, !suspends)}
      verb={suspends ? 'Suspend' : 'Resume'}
      done={suspends ? 'Suspended' : 'Resumed'}
      isDangerous={suspends}
      request={(id) => suspension(id, suspends)}
      work={async ({ id, status }) =>
        (status === 'suspended') === suspends ? 'skipped' : setSuspended(id, suspends)
      }
    >
      <p>
        {suspends
          ? 'Their agents are rejected until you resume them. Their files are kept.'
          : 'Their agents can read and write again.'}
      </p>
    </BulkDialog>
  );
}

function DeleteDialog(props: BulkProps) {
  const [typed, setTyped] = useState('');
  const { targets } = props;
  return (
    <BulkDialog
      {...props}
      verb="Delete"
      done="Deleted"
      isDangerous
      isExact
      isReady={typed === String(targets.count)}
      request={deletion}
      work={({ id }) => deleteTenant(id).catch(skipMissing)}
    >
      <p>
        This deletes {count(targets.files, 'file')}, the history, and the keys of{' '}
        {count(targets.count, 'tenant')}. It cannot be undone.
      </p>
      <TextField
        label="Type the number of tenants to confirm"
        autofocus
        inputMode="numeric"
        value={typed}
        onChange={setTyped}
      />
    </BulkDialog>
  );
}

/** A tenant that does not exist may have been deleted by a request whose response was lost. */
function skipMissing(error: unknown): 'skipped' {
  if (error instanceof ApiError && error.code === 'no_such_tenant') return 'skipped';
  throw error;
}
