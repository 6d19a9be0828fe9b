import { useState } from 'preact/hooks';
import { changed } from '../../api/changes.ts';
import { canWrite } from '../../api/session.ts';
import { changeSettings } from '../../api/tenants.ts';
import type { LimitSettings, Redact, Settings, Tenant } from '../../api/types.ts';
import { formatBytes, formatNumber } from '../../text/format.ts';
import { ErrorText, toast } from '../../ui/messages.tsx';
import { useAction } from '../../ui/use-load.ts';

interface Limit {
  name: keyof LimitSettings;
  title: string;
  format: (value: number) => string;
  /** What 0 means. */
  zero: string;
}

const days = (value: number) => `${formatNumber(value)} days`;
const LIMITS: Limit[] = [
  { name: 'max_files', title: 'Files', format: formatNumber, zero: 'no limit' },
  { name: 'max_bytes', title: 'Total size (bytes)', format: formatBytes, zero: 'no limit' },
  { name: 'max_file_bytes', title: 'Size of a file (bytes)', format: formatBytes, zero: 'no limit' },
  { name: 'max_view_chars', title: 'Characters in a view', format: formatNumber, zero: 'no limit' },
  { name: 'rate_per_minute', title: 'Requests a minute', format: formatNumber, zero: 'no limit' },
  {
    name: 'max_body_bytes',
    title: 'Size of a request (bytes)',
    format: formatBytes,
    zero: 'that of the service',
  },
  { name: 'ttl_days', title: 'Days until unused files expire', format: days, zero: 'never' },
  { name: 'history_days', title: 'Days of history', format: days, zero: 'none' },
  { name: 'max_history_bytes', title: 'Size of the history (bytes)', format: formatBytes, zero: 'no limit' },
];

type Fields = Record<keyof LimitSettings, string> & { redact: string };

/** The settings of a tenant. An empty field means the default of the service. */
export function LimitsForm({ tenant }: { tenant: Tenant }) {
  const initial = fieldsOf(tenant.settings);
  const [fields, setFields] = useState(initial);
  const action = useAction();
  const changes = changesOf(initial, fields);
  const isReady = Object.keys(changes).length > 0;
  const set = (name: keyof Fields, value: string) => setFields({ ...fields, [name]: value });
  const save = () =>
    action.run(async () => {
      await changeSettings(tenant.id, changes);
      changed();
      toast('Saved the settings.');
    });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady && !action.isRunning) void save();
      }}
    >
      <h2>Limits and settings</h2>
      <p class="muted small">
        Leave a field empty for the default of the service. 0 means what is said beside it.
      </p>
      <fieldset disabled={!canWrite.value} class="grid">
        {LIMITS.map(({ name, title, format, zero }) => {
          const holds = tenant.effective[name] ?? 0;
          return (
            <label key={name}>
              {title}
              <input
                type="number"
                min={0}
                step={1}
                placeholder={holds === 0 ? zero : format(holds)}
                value={fields[name]}
                onInput={(event) => set(name, event.currentTarget.value)}
              />
              <span class="hint">0: {zero}</span>
            </label>
          );
        })}
        <label>
          Secrets in contents
          <select value={fields.redact} onChange={(event) => set('redact', event.currentTarget.value)}>
            <option value="">Default ({tenant.effective.redact})</option>
            <option value="off">Store them</option>
            <option value="mask">Mask them</option>
            <option value="reject">Reject the write</option>
          </select>
        </label>
      </fieldset>
      <ErrorText message={action.error} />
      {canWrite.value && (
        <div class="buttons">
          <button type="submit" class="primary" disabled={!isReady || action.isRunning}>
            Save settings
          </button>
        </div>
      )}
    </form>
  );
}

function fieldsOf(settings: Settings): Fields {
  const text = (value: number | string | null) => (value === null ? '' : String(value));
  const limits = LIMITS.map(({ name }) => [name, text(settings[name])]);
  return { ...Object.fromEntries(limits), redact: text(settings.redact) };
}

function changesOf(initial: Fields, fields: Fields): Partial<Settings> {
  const changes: Partial<Settings> = {};
  for (const { name } of LIMITS) {
    if (fields[name] !== initial[name]) changes[name] = fields[name] === '' ? null : Number(fields[name]);
  }
  if (fields.redact !== initial.redact)
    changes.redact = fields.redact === '' ? null : (fields.redact as Redact);
  return changes;
}
