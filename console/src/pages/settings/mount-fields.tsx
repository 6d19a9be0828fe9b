import type { Mount } from '../../api/api-types.ts';
import { TenantField } from '../../ui/tenant-field.tsx';

/** State for a mount's form fields. */
export interface MountForm {
  tenant: string;
  /** Directory name. Empty for the mounted tenant's ID. */
  name: string;
  access: Mount['access'];
  instructions: string;
}

export const NEW_MOUNT: MountForm = { tenant: '', name: '', access: 'read_only', instructions: '' };

/** Returns the mount to save. */
export const toMount = ({ tenant, name, access, instructions }: MountForm) => ({
  name: name || tenant,
  tenant,
  access,
  instructions,
});

interface Props {
  form: MountForm;
  /** Whether the mount is new, so that its name can be chosen. */
  isNew: boolean;
  /** ID of the mounting tenant, which cannot mount itself. */
  except?: string;
  onChange: (changes: Partial<MountForm>) => void;
}

export function MountFields({ form, isNew, except, onChange }: Props) {
  return (
    <>
      <TenantField
        label="Tenant whose memory it shows"
        isFocused
        {...(except === undefined ? {} : { except })}
        value={form.tenant}
        onChange={(tenant) => onChange({ tenant })}
      />
      {isNew && (
        <label>
          Name of the directory
          <input
            placeholder={form.tenant || 'the ID of the tenant'}
            value={form.name}
            onInput={(event) => onChange({ name: event.currentTarget.value })}
          />
          <span class="hint">Directly below /memories.</span>
        </label>
      )}
      <label>
        Access
        <select
          value={form.access}
          onChange={(event) => onChange({ access: event.currentTarget.value as Mount['access'] })}
        >
          <option value="read_only">Read only</option>
          <option value="propose">Propose changes</option>
          <option value="read_write">Read and write</option>
        </select>
        <span class="hint">Applies regardless of the access of the agents' keys.</span>
      </label>
      <label>
        Instructions for agents
        <textarea
          rows={4}
          maxLength={4096}
          value={form.instructions}
          onInput={(event) => onChange({ instructions: event.currentTarget.value })}
        />
        <span class="hint">The purpose of the directory, part of GET /instructions.</span>
      </label>
    </>
  );
}
