import { useState } from 'preact/hooks';
import { ALL_SETTINGS, type NumberSetting, type Setting } from '../../../../src/tenants/settings.ts';
import { snakeCase } from '../../../../src/util/snake-case.ts';
import { changed } from '../../api/changes.ts';
import { canWrite } from '../../api/session.ts';
import { changeSettings } from '../../api/tenants.ts';
import type { Settings, Tenant } from '../../api/types.ts';
import { formatBytes, formatNumber } from '../../text/format.ts';
import { ErrorText, toast } from '../../ui/messages.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { useAction } from '../../ui/use-load.ts';

type Field = keyof Settings;
/** The text of each field. */
type Fields = Record<Field, string>;

const SETTINGS = ALL_SETTINGS.map(([name, setting]) => [snakeCase(name), setting] as const);

/** The settings of a tenant. An empty field means the default of the service. */
export function LimitsForm({ tenant }: { tenant: Tenant }) {
  const initial = fieldsOf(tenant.settings);
  const [fields, setFields] = useState(initial);
  const action = useAction();
  const changes = changesOf(initial, fields);
  const isReady = Object.keys(changes).length > 0;
  useUnsaved(isReady);
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
        Leave a field empty for the service's default. See each field for what 0 means.
      </p>
      <fieldset disabled={!canWrite.value} class="grid">
        {SETTINGS.map(([name, setting]) => (
          <SettingField
            key={name}
            setting={setting}
            byDefault={tenant.settings[name] === null ? tenant.effective[name] : null}
            value={fields[name]}
            onChange={(value) => setFields({ ...fields, [name]: value })}
          />
        ))}
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

function SettingField({
  setting,
  byDefault,
  value,
  onChange,
}: {
  setting: Setting;
  /** The default of the service. Null when it is unknown, because the tenant has a value of its own. */
  byDefault: number | string | null;
  value: string;
  onChange: (value: string) => void;
}) {
  if ('choices' in setting) {
    return (
      <label>
        {setting.title}
        <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{byDefault === null ? 'Default' : `Default (${byDefault})`}</option>
          {Object.entries(setting.choices).map(([choice, title]) => (
            <option key={choice} value={choice}>
              {title}
            </option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <label>
      {setting.title}
      {setting.unit === 'bytes' && ' (bytes)'}
      <input
        type="number"
        min={0}
        max={setting.max}
        step={1}
        placeholder={byDefault === null ? 'default' : formatSetting(Number(byDefault), setting)}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <span class="hint">0: {setting.zero}</span>
    </label>
  );
}

function formatSetting(value: number, { unit, zero }: NumberSetting): string {
  if (value === 0) return zero;
  if (unit === 'bytes') return formatBytes(value);
  return unit === 'days' ? `${formatNumber(value)} days` : formatNumber(value);
}

function fieldsOf(settings: Settings): Fields {
  return Object.fromEntries(SETTINGS.map(([name]) => [name, String(settings[name] ?? '')])) as Fields;
}

function changesOf(initial: Fields, fields: Fields): Partial<Settings> {
  return Object.fromEntries(
    SETTINGS.filter(([name]) => fields[name] !== initial[name]).map(([name, setting]) => {
      if (fields[name] === '') return [name, null];
      return [name, 'choices' in setting ? fields[name] : Number(fields[name])];
    }),
  );
}
