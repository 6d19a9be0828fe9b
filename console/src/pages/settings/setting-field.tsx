import { snakeCase } from '../../../../src/core/lib/text-forms.ts';
import { expectedQuantity, formatQuantity, parseQuantity } from '../../../../src/core/lib/units.ts';
import {
  ALL_SETTINGS,
  formatSetting,
  isNumberSetting,
  type NumberSetting,
  type Setting,
} from '../../../../src/core/tenants/settings.ts';
import { SelectField, TextField } from '../../ui/fields.tsx';

/** All settings, with their names in the API. */
export const SETTINGS = ALL_SETTINGS.map(([name, setting]) => [snakeCase(name), setting] as const);

/** Text that selects the service's default in a form for several tenants. */
export const DEFAULT = 'default';

/** Returns a field's value. The text must be valid. */
export const parseSetting = (text: string, setting: Setting) =>
  isNumberSetting(setting) ? parseQuantity(text, setting.unit) : text;

interface Props {
  setting: Setting;
  /** The service's default. Null if unknown, because the tenant overrides it. */
  byDefault: number | string | null;
  /** Whether the form is for several tenants: an empty field changes no tenant, and `DEFAULT` selects the default. */
  isForSeveral?: boolean;
  value: string;
  onChange: (value: string) => void;
}

/** Field for a tenant setting. An empty field selects the service's default. */
export function SettingField({ setting, byDefault, isForSeveral = false, value, onChange }: Props) {
  if ('choices' in setting) {
    const empty = byDefault === null ? 'Default' : `Default (${byDefault})`;
    return (
      <SelectField
        label={setting.title}
        texts={{
          '': isForSeveral ? 'Unchanged' : empty,
          ...(isForSeveral && { [DEFAULT]: 'Default' }),
          ...setting.choices,
        }}
        value={value}
        onChange={onChange}
      />
    );
  }
  const empty = byDefault === null ? DEFAULT : formatSetting(setting, byDefault);
  const placeholder = isForSeveral ? 'unchanged' : empty;
  if (!isNumberSetting(setting)) {
    return (
      <TextField
        label={setting.title}
        hint="Paths separated by commas, such as /memories/user.md"
        placeholder={placeholder}
        value={value}
        onChange={onChange}
      />
    );
  }
  return (
    <label>
      {setting.title}
      <input
        inputmode={setting.unit === 'bytes' || setting.unit === 'days' || isForSeveral ? 'text' : 'numeric'}
        placeholder={placeholder}
        value={value}
        onInput={({ currentTarget }) => {
          onChange(currentTarget.value);
          const isDefault = isForSeveral && currentTarget.value === DEFAULT;
          currentTarget.setCustomValidity(isDefault ? '' : validationMessage(currentTarget.value, setting));
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

/** Returns the validation message for a value, or an empty string for a valid value. */
function validationMessage(text: string, { unit, max }: NumberSetting): string {
  const value = text === '' ? 0 : parseQuantity(text, unit);
  if (value === undefined) return `Enter ${expectedQuantity(unit)}.`;
  return value > max ? `Enter at most ${formatQuantity(max, unit)}.` : '';
}
