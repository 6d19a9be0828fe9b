import type { Tenant } from '../../api/api-types.ts';
import type { TenantDetails } from '../../api/tenants-api.ts';
import { FieldRows } from '../../ui/field-rows.tsx';
import { TextArea, TextField } from '../../ui/fields.tsx';

/** State for the fields with a tenant's name, description, and metadata. */
export interface DetailsForm {
  name: string;
  description: string;
  pairs: readonly { key: string; value: string }[];
}

export const NO_DETAILS: DetailsForm = { name: '', description: '', pairs: [] };

/** The service's limits. */
const MAX = { name: 255, description: 1024, pairs: 16, key: 64, value: 512 };

/** Returns the fields for a tenant. The name field is empty if the name is the ID. */
export function toDetailsForm({ id, name, description, metadata }: Tenant): DetailsForm {
  return {
    name: name === id ? '' : name,
    description,
    pairs: Object.entries(metadata).map(([key, value]) => ({ key, value })),
  };
}

const toMetadata = ({ pairs }: DetailsForm): Record<string, string> =>
  Object.fromEntries(pairs.filter(({ key }) => key !== '').map(({ key, value }) => [key, value]));

/** Returns the details that differ between two field states, as a request sends them. */
export function changedDetails(id: string, before: DetailsForm, after: DetailsForm): TenantDetails {
  const [old, metadata] = [toMetadata(before), toMetadata(after)];
  const changed = Object.entries(metadata).filter(([key, value]) => old[key] !== value);
  const removed = Object.keys(old).filter((key) => !Object.hasOwn(metadata, key));
  const pairs = [...changed, ...removed.map((key) => [key, null] as const)];
  return {
    ...(after.name !== before.name && { name: after.name || id }),
    ...(after.description !== before.description && { description: after.description }),
    ...(pairs.length > 0 && { metadata: Object.fromEntries(pairs) }),
  };
}

interface Props {
  form: DetailsForm;
  /** The tenant's ID, which is the tenant's name by default. */
  id: string;
  onChange: (form: DetailsForm) => void;
}

/** Fields for a tenant's name, description, and metadata. */
export function DetailsFields({ form, id, onChange }: Props) {
  return (
    <>
      <TextField
        label="Name"
        maxLength={MAX.name}
        placeholder={id || 'By default, the ID'}
        value={form.name}
        onChange={(name) => onChange({ ...form, name })}
      />
      <TextArea
        label="Description"
        rows={2}
        maxLength={MAX.description}
        placeholder="The contents of the memory, for people and agents"
        value={form.description}
        onChange={(description) => onChange({ ...form, description })}
      />
      <FieldRows
        title="Metadata"
        noun="pair"
        verb="Add metadata"
        rows={form.pairs}
        newRow={{ key: '', value: '' }}
        max={MAX.pairs}
        onChange={(pairs) => onChange({ ...form, pairs })}
        fields={({ key, value }, name, change) => (
          <>
            <input
              required
              maxLength={MAX.key}
              spellcheck={false}
              aria-label={`Key of ${name}`}
              placeholder="Key, such as plan"
              value={key}
              onInput={(event) => change({ key: event.currentTarget.value })}
            />
            <input
              maxLength={MAX.value}
              spellcheck={false}
              aria-label={`Value of ${name}`}
              placeholder="Value, such as pro"
              value={value}
              onInput={(event) => change({ value: event.currentTarget.value })}
            />
          </>
        )}
      />
    </>
  );
}
