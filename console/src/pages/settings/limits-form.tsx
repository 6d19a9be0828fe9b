import { useState } from 'preact/hooks';
import { snakeCase } from '../../../../src/lib/text.ts';
import { expectedQuantity, formatQuantity, parseQuantity, typedQuantity } from '../../../../src/lib/units.ts';
import {
  ALL_SETTINGS,
  formatSetting,
  type NumberSetting,
  type Setting,
} from '../../../../src/tenants/settings.ts';
import { changed } from '../../api/changes.ts';
import { canWrite } from '../../api/session.ts';
import { changeSettings, getTenant } from '../../api/tenants.ts';
import type { Settings, Tenant } from '../../api/types.ts';
import { ErrorText } from '../../ui/messages.tsx';
import { mayOverwrite, type NewerValue } from '../../ui/overwrite.tsx';
import { toast } from '../../ui/toasts.ts';
import { useUnsaved } from '../../ui/unsaved.ts';
import { useAction } from '../../ui/use-load.ts';

type Field = keyof Settings;
/** Text of each input field. */
type Fields = Record<Field, string>;

const SETTINGS = ALL_SETTINGS.map(([name, setting]) => [snakeCase(name), setting] as const);

/** Form for the settings of a tenant. An empty field selects the default of the service. */
export function LimitsForm({ tenant }: { tenant: Tenant }) {
  const initial = fieldsOf(tenant.settings);
  const [fields, setFields] = useState(initial);
  const action = useAction();
  const changes = changesOf(initial, fields);
  const isReady = Object.keys(changes).length > 0;
  useUnsaved(isReady);
  const save = () =>
    action.run(async () => {
      const current = await getTenant(tenant.id);
      if (!(await mayOverwrite(newerOf(tenant.settings, current.settings, changes)))) return;
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
        Leave a field empty for the service's default. Each field explains the value 0.
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
  /** Default of the service. Null if unknown, because the tenant overrides it. */
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
      <input
        inputmode={setting.unit === 'bytes' || setting.unit === 'days' ? 'text' : 'numeric'}
        placeholder={byDefault === null ? 'default' : formatSetting(setting, byDefault)}
        value={value}
        onInput={(event) => {
          onChange(event.currentTarget.value);
          event.currentTarget.setCustomValidity(problemOf(event.currentTarget.value, setting));
        }}
      />
      <span class="hint">
        {HINTS[setting.unit]}0: {setting.zero}
      </span>
    </label>
  );
}

const HINTS: Partial<Record<NumberSetting['unit'], string>> = {
  bytes: 'For example 10 MB. ',
  days: 'For example 30 or 4w. ',
};

/** Returns the validation message of a value, or an empty string for a valid value. */
function problemOf(text: string, { unit, max }: NumberSetting): string {
  const value = text === '' ? 0 : parseQuantity(text, unit);
  if (value === undefined) return `Enter ${expectedQuantity(unit)}.`;
  return value > max ? `Enter at most ${formatQuantity(max, unit)}.` : '';
}

function fieldsOf(settings: Settings): Fields {
  return Object.fromEntries(
    SETTINGS.map(([name, setting]) => [name, textOf(settings[name], setting)]),
  ) as Fields;
}

function textOf(value: number | string | null, setting: Setting): string {
  if (value === null) return '';
  return 'choices' in setting ? String(value) : typedQuantity(Number(value), setting.unit);
}

/** Returns the settings to save that have other values than the form started with. */
function newerOf(started: Settings, current: Settings, changes: Partial<Settings>): NewerValue[] {
  return SETTINGS.filter(([name]) => name in changes && current[name] !== started[name]).map(
    ([name, setting]) => ({ name: setting.title, now: textOf(current[name], setting) || 'the default' }),
  );
}

function changesOf(initial: Fields, fields: Fields): Partial<Settings> {
  return Object.fromEntries(
    SETTINGS.filter(([name]) => fields[name] !== initial[name]).map(([name, setting]) => {
      if (fields[name] === '') return [name, null];
      return [name, 'choices' in setting ? fields[name] : parseQuantity(fields[name], setting.unit)];
    }),
  );
}
