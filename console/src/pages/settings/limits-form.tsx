import { useState } from 'preact/hooks';
import { typedQuantity } from '../../../../src/core/lib/units.ts';
import { isNumberSetting, type Setting } from '../../../../src/core/tenants/settings.ts';
import type { Settings, Tenant } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { canWrite } from '../../api/session-state.ts';
import { changeSettings, getTenant } from '../../api/tenants-api.ts';
import { mayOverwrite, type NewerValue } from '../../ui/overwrite.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useUnsaved } from '../../ui/unsaved.ts';
import { useAction } from '../../ui/use-load.ts';
import { parseSetting, SETTINGS, SettingField } from './setting-field.tsx';

type Field = keyof Settings;
/** Text in each input field. */
type Fields = Record<Field, string>;

/** Form for a tenant's settings. An empty field selects the service's default. */
export function LimitsForm({ tenant }: { tenant: Tenant }) {
  const [started, setStarted] = useState(tenant.settings);
  const initial = toFields(started);
  const [fields, setFields] = useState(initial);
  const action = useAction();
  const changes = changedSettings(initial, fields);
  const isReady = Object.keys(changes).length > 0;
  useUnsaved(isReady);
  const save = () =>
    action.run(async () => {
      const current = await getTenant(tenant.id);
      if (!(await mayOverwrite(newerSettings(started, current.settings, changes)))) return;
      setStarted((await changeSettings(tenant.id, changes)).settings);
      noteChange();
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

function toFields(settings: Settings): Fields {
  return Object.fromEntries(
    SETTINGS.map(([name, setting]) => [name, settingText(settings[name], setting)]),
  ) as Fields;
}

function settingText(value: number | string | null, setting: Setting): string {
  if (value === null) return '';
  return isNumberSetting(setting) ? typedQuantity(Number(value), setting.unit) : String(value);
}

/** Returns the settings to save that have other values than the form started with. */
function newerSettings(started: Settings, current: Settings, changes: Partial<Settings>): NewerValue[] {
  return SETTINGS.filter(([name]) => name in changes && current[name] !== started[name]).map(
    ([name, setting]) => ({ name: setting.title, now: settingText(current[name], setting) || 'the default' }),
  );
}

function changedSettings(initial: Fields, fields: Fields): Partial<Settings> {
  return Object.fromEntries(
    SETTINGS.filter(([name]) => fields[name] !== initial[name]).map(([name, setting]) => [
      name,
      fields[name] === '' ? null : parseSetting(fields[name], setting),
    ]),
  );
}
