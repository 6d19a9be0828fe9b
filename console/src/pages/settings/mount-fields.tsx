import type { Mount } from '../../api/api-types.ts';
import { SelectField, TextArea, TextField } from '../../ui/fields.tsx';
import { Name } from '../../ui/name.tsx';
import { TenantField } from '../../ui/tenant-field.tsx';

/** State for a mount's form fields. */
export interface MountForm {
  tenant: string;
  /** Directory name. Empty for the mounted tenant's ID. */
  name: string;
  access: Mount['access'];
  /** Path in the mounted memory that is shown; undefined for the whole memory. */
  prefix?: string | undefined;
  instructions: string;
}

export const NEW_MOUNT: MountForm = { tenant: '', name: '', access: 'read_only', instructions: '' };

/** Returns the mount to save. */
export const toMount = ({ tenant, name, access, prefix, instructions }: MountForm) => ({
  name: name || tenant,
  tenant,
  access,
  ...(prefix && { prefix }),
  instructions,
});

/** Labels for a mount's access in forms. */
export const MOUNT_ACCESS: Record<Mount['access'], string> = {
  read_only: 'Read only',
  propose: 'Propose changes',
  read_write: 'Read and write',
};

/** Labels for a mount's access in lists. */
export const MOUNT_ACCESS_TEXTS: Record<Mount['access'], string> = {
  read_only: 'read only',
  propose: 'propose changes',
  read_write: 'read, write',
};

interface Props {
  form: MountForm;
  /** Whether the mount is new, so that its name can be chosen. */
  isNew: boolean;
  /** Whether the mount belongs to a share, which another tenant's memory would end. */
  isShared?: boolean;
  /** ID of the mounting tenant, which cannot mount itself. */
  except?: string;
  onChange: (changes: Partial<MountForm>) => void;
}

export function MountFields({ form, isNew, isShared = false, except, onChange }: Props) {
  return (
    <>
      {isShared ? (
        <p>
          The memory of <Name text={form.tenant} />, by a share
        </p>
      ) : (
        <TenantField
          label="Tenant whose memory it shows"
          isFocused
          {...(except === undefined ? {} : { except })}
          value={form.tenant}
          onChange={(tenant) => onChange({ tenant })}
        />
      )}
      {isNew && (
        <NameField form={form} placeholder={form.tenant || 'the ID of the tenant'} onChange={onChange} />
      )}
      <SelectField
        label="Access"
        hint="Applies regardless of the access of the agents' keys."
        texts={MOUNT_ACCESS}
        value={form.access}
        onChange={(access) => onChange({ access })}
      />
      <PrefixField value={form.prefix} onChange={(prefix) => onChange({ prefix })} />
      <InstructionsField form={form} onChange={onChange} />
    </>
  );
}

interface PrefixProps {
  value: string | undefined;
  onChange: (prefix: string | undefined) => void;
}

export function PrefixField({ value, onChange }: PrefixProps) {
  return (
    <TextField
      label="Shown path"
      hint="Only this file or directory of the memory is shown. By default, all of it."
      placeholder="/memories"
      value={value ?? ''}
      onChange={(path) => onChange(path || undefined)}
    />
  );
}

/** Shows a mount's prefix, if it has one. */
export function Prefix({ path }: { path: string | undefined }) {
  if (path === undefined) return null;
  return (
    <span class="muted small block">
      only <Name text={path} />
    </span>
  );
}

interface FieldProps {
  form: Pick<MountForm, 'name' | 'instructions'>;
  placeholder?: string;
  onChange: (changes: Partial<MountForm>) => void;
}

export function NameField({ form, placeholder = 'team', onChange }: FieldProps) {
  return (
    <TextField
      label="Name of the directory"
      hint="Directly below /memories."
      placeholder={placeholder}
      value={form.name}
      onChange={(name) => onChange({ name })}
    />
  );
}

export function InstructionsField({ form, onChange }: FieldProps) {
  return (
    <TextArea
      label="Instructions for agents"
      hint="The purpose of the directory, part of GET /instructions."
      rows={4}
      maxLength={4096}
      value={form.instructions}
      onChange={(instructions) => onChange({ instructions })}
    />
  );
}
