import type { Tenant } from '../../api/api-types.ts';
import type { TenantDetails } from '../../api/tenants-api.ts';
import { Icon } from '../../ui/icon.tsx';

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
  const setPair = (index: number, change: Partial<DetailsForm['pairs'][number]>) =>
    onChange({ ...form, pairs: form.pairs.map((pair, i) => (i === index ? { ...pair, ...change } : pair)) });
  return (
    <>
      <label>
        Name
        <input
          maxLength={MAX.name}
          placeholder={id || 'By default, the ID'}
          value={form.name}
          onInput={(event) => onChange({ ...form, name: event.currentTarget.value })}
        />
      </label>
      <label>
        Description
        <textarea
          rows={2}
          maxLength={MAX.description}
          placeholder="The contents of the memory, for people and agents"
          value={form.description}
          onInput={(event) => onChange({ ...form, description: event.currentTarget.value })}
        />
      </label>
      <fieldset class="pairs">
        <legend>Metadata</legend>
        {form.pairs.map(({ key, value }, index) => (
          // A pair has no other identity while its key is typed.
          <div class="pair" key={index}>
            <input
              required
              maxLength={MAX.key}
              spellcheck={false}
              aria-label={`Key of pair ${index + 1}`}
              placeholder="Key, such as plan"
              value={key}
              onInput={(event) => setPair(index, { key: event.currentTarget.value })}
            />
            <input
              maxLength={MAX.value}
              spellcheck={false}
              aria-label={`Value of pair ${index + 1}`}
              placeholder="Value, such as pro"
              value={value}
              onInput={(event) => setPair(index, { value: event.currentTarget.value })}
            />
            <button
              type="button"
              class="icon-button quiet"
              aria-label={`Remove pair ${index + 1}`}
              onClick={() => onChange({ ...form, pairs: form.pairs.filter((_, i) => i !== index) })}
            >
              <Icon name="close" />
            </button>
          </div>
        ))}
        {form.pairs.length < MAX.pairs && (
          <button
            type="button"
            class="quiet"
            onClick={() => onChange({ ...form, pairs: [...form.pairs, { key: '', value: '' }] })}
          >
            <Icon name="plus" /> Add metadata
          </button>
        )}
      </fieldset>
    </>
  );
}
