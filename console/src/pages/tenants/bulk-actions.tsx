import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { messageOf } from '../../api/client.ts';
import { canManage } from '../../api/session.ts';
import { changeSettings, deleteTenant, setSuspended } from '../../api/tenants.ts';
import type { Settings, Tenant } from '../../api/types.ts';
import { count, formatNumber } from '../../text/format.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toasts.ts';
import { useAction } from '../../ui/use-load.ts';

type Kind = 'suspend' | 'resume' | 'limits' | 'delete';

interface Props {
  tenants: Tenant[];
  /** Called to select all listed tenants. */
  onSelectAll: () => void;
  onClear: () => void;
  onDone: () => void;
}

/** Actions on the selected tenants. Each action asks for confirmation. */
export function BulkActions({ tenants, onSelectAll, onClear, onDone }: Props) {
  const [kind, setKind] = useState<Kind | null>(null);
  const active = tenants.filter(({ status }) => status === 'active');
  const suspended = tenants.filter(({ status }) => status === 'suspended');
  const close = () => setKind(null);
  const dialog = { onClose: close, onDone };
  return (
    <section class="bulk" aria-label="Selected tenants">
      <strong>{formatNumber(tenants.length)} selected</strong>
      <button type="button" class="quiet" onClick={onSelectAll}>
        Select all shown
      </button>
      <button type="button" disabled={active.length === 0} onClick={() => setKind('suspend')}>
        Suspend…
      </button>
      <button type="button" disabled={suspended.length === 0} onClick={() => setKind('resume')}>
        Resume…
      </button>
      <button type="button" onClick={() => setKind('limits')}>
        Set limits…
      </button>
      {canManage.value && (
        <button type="button" class="danger-quiet" onClick={() => setKind('delete')}>
          Delete…
        </button>
      )}
      <button type="button" class="quiet" onClick={onClear}>
        Clear
      </button>
      {kind === 'suspend' && (
        <BulkDialog
          {...dialog}
          tenants={active}
          verb="Suspend"
          done="Suspended"
          isDangerous
          work={({ id }) => setSuspended(id, true)}
        >
          <p>Their agents are rejected until you resume them. Their files are kept.</p>
        </BulkDialog>
      )}
      {kind === 'resume' && (
        <BulkDialog
          {...dialog}
          tenants={suspended}
          verb="Resume"
          done="Resumed"
          work={({ id }) => setSuspended(id, false)}
        >
          <p>Their agents can read and write again.</p>
        </BulkDialog>
      )}
      {kind === 'limits' && <LimitsDialog {...dialog} tenants={tenants} />}
      {kind === 'delete' && <DeleteDialog {...dialog} tenants={tenants} />}
    </section>
  );
}

interface DialogProps {
  tenants: Tenant[];
  onClose: () => void;
  onDone: () => void;
}

/** Applies `work` to each tenant in turn. After a failure, continues with the next tenant. */
function BulkDialog(
  props: DialogProps & {
    verb: string;
    /** Replaces the default question, which consists of the verb and the number of tenants. */
    title?: string;
    /** Past tense of the verb. */
    done: string;
    work: (tenant: Tenant) => Promise<unknown>;
    isDangerous?: boolean;
    isReady?: boolean;
    hasInput?: boolean;
    children: ComponentChildren;
  },
) {
  const { tenants, onClose, onDone, verb, title, done, work, children, ...dialog } = props;
  const [finished, setFinished] = useState(0);
  const action = useAction();
  const what = count(tenants.length, 'tenant');
  const run = () =>
    action.run(async (signal) => {
      const failures: string[] = [];
      for (const [i, tenant] of tenants.entries()) {
        if (signal.aborted) return;
        setFinished(i);
        try {
          await work(tenant);
        } catch (error) {
          failures.push(`${tenant.id}: ${messageOf(error)}`);
        }
      }
      toast(`${done} ${count(tenants.length - failures.length, 'tenant')}.`);
      for (const failure of failures.slice(0, 3)) toast(failure);
      if (failures.length > 3) toast(`${count(failures.length - 3, 'more tenant')} failed.`);
      onDone();
    });
  return (
    <FormDialog
      title={title ?? `${verb} ${what}?`}
      verb={verb}
      doing={`${formatNumber(finished)} of ${what}`}
      {...dialog}
      action={action}
      onClose={onClose}
      onSubmit={run}
    >
      {children}
      <Listed tenants={tenants} />
    </FormDialog>
  );
}

const SHOWN = 10;

function Listed({ tenants }: { tenants: Tenant[] }) {
  return (
    <ul class="bulk-list small">
      {tenants.slice(0, SHOWN).map(({ id }) => (
        <li key={id}>{id}</li>
      ))}
      {tenants.length > SHOWN && <li class="muted">and {formatNumber(tenants.length - SHOWN)} more</li>}
    </ul>
  );
}

const LIMITS = { max_files: 'Files', max_bytes: 'Size of all files (bytes)' } as const;
type Limit = keyof typeof LIMITS;

function LimitsDialog(props: DialogProps) {
  const [texts, setTexts] = useState<Partial<Record<Limit, string>>>({});
  const changes: Partial<Settings> = {};
  for (const [name, text] of Object.entries(texts) as [Limit, string][]) {
    if (text !== '') changes[name] = Number(text);
  }
  const isReady = Object.keys(changes).length > 0;
  return (
    <BulkDialog
      {...props}
      verb="Set limits"
      title={`Set the limits of ${count(props.tenants.length, 'tenant')}?`}
      done="Set the limits of"
      isReady={isReady}
      hasInput={isReady}
      work={({ id }) => changeSettings(id, changes)}
    >
      <p>These replace the limits of each tenant. Empty fields keep their setting.</p>
      {(Object.keys(LIMITS) as Limit[]).map((name) => (
        <label key={name}>
          {LIMITS[name]}
          <input
            type="number"
            min={0}
            step={1}
            value={texts[name] ?? ''}
            onInput={(event) => setTexts({ ...texts, [name]: event.currentTarget.value })}
          />
          <span class="hint">0: no limit</span>
        </label>
      ))}
    </BulkDialog>
  );
}

function DeleteDialog({ tenants, ...props }: DialogProps) {
  const [typed, setTyped] = useState('');
  const files = tenants.reduce((sum, tenant) => sum + tenant.files, 0);
  return (
    <BulkDialog
      {...props}
      tenants={tenants}
      verb="Delete"
      done="Deleted"
      isDangerous
      isReady={typed === String(tenants.length)}
      work={({ id }) => deleteTenant(id)}
    >
      <p>
        This deletes {count(files, 'file')}, the history, and the keys of {count(tenants.length, 'tenant')}.
        It cannot be undone.
      </p>
      <label>
        Type the number of tenants to confirm
        <input
          autofocus
          inputMode="numeric"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
    </BulkDialog>
  );
}
