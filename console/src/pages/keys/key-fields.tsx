import type { Access, KeyKind } from '../../api/api-types.ts';
import { onlyTenants } from '../../api/session-state.ts';
import { Options } from '../../ui/options.tsx';
import { TenantField } from '../../ui/tenant-field.tsx';
import { ExpiryFields, LabelField } from './changeable-fields.tsx';
import {
  accessLevels,
  type KeyForm,
  KINDS,
  keyOptions,
  mayHaveRights,
  mayManageStores,
  mayShare,
  withKind,
} from './new-key.ts';
import { RightsField } from './rights-field.tsx';

interface Props {
  form: KeyForm;
  /** Whether the key is for a given tenant. */
  isForTenant: boolean;
  onChange: (changes: Partial<KeyForm>) => void;
}

export function KeyFields({ form, isForTenant, onChange }: Props) {
  return (
    <>
      <LabelField
        value={form.label}
        hint="The history shows it beside each change."
        onChange={(label) => onChange({ label })}
      />
      {!isForTenant && <Holder form={form} onChange={onChange} />}
      <label>
        Access
        <select
          value={form.access}
          onChange={(event) => onChange({ access: event.currentTarget.value as Access })}
        >
          <Options texts={accessLevels(form.kind)} />
        </select>
      </label>
      {mayManageStores(form) && (
        <label class="check">
          <input
            type="checkbox"
            checked={form.managesStores}
            onChange={(event) => onChange({ managesStores: event.currentTarget.checked })}
          />
          Manage memory stores, and redact versions
        </label>
      )}
      {mayShare(form) && (
        <label class="check">
          <input
            type="checkbox"
            checked={form.canShare}
            onChange={(event) => onChange({ canShare: event.currentTarget.checked })}
          />
          Share the memory with other tenants by invitation
        </label>
      )}
      {mayHaveRights(keyOptions(form)) && (
        <RightsField rights={form.rights} onChange={(rights) => onChange({ rights })} />
      )}
      <label>
        Source
        <input
          maxLength={64}
          placeholder="For example user, web, or import"
          value={form.source}
          onInput={(event) => onChange({ source: event.currentTarget.value })}
        />
        <span class="hint">The source of the writes of the key, recorded in every version.</span>
      </label>
      <ExpiryFields expiry={form} onChange={onChange} />
    </>
  );
}

type HolderProps = Omit<Props, 'isForTenant'>;

/**
 * Fields that select a key's holder. An admin whose scope is limited can only create keys for tenants in the scope.
 */
function Holder({ form, onChange }: HolderProps) {
  const own = onlyTenants.value;
  if (own !== null) {
    return (
      <label>
        Tenant
        <select value={form.tenant} onChange={(event) => onChange({ tenant: event.currentTarget.value })}>
          <Options texts={Object.fromEntries(own.map((id) => [id, id]))} />
        </select>
      </label>
    );
  }
  return (
    <>
      <label>
        For
        <select
          value={form.kind}
          onChange={(event) => onChange(withKind(form, event.currentTarget.value as KeyKind))}
        >
          <Options texts={KINDS} />
        </select>
      </label>
      {form.kind === 'tenant' && (
        <TenantField label="Tenant" value={form.tenant} onChange={(tenant) => onChange({ tenant })} />
      )}
      {form.kind === 'admin' && <Scope form={form} onChange={onChange} />}
    </>
  );
}

function Scope({ form, onChange }: HolderProps) {
  return (
    <>
      <label>
        Tenants
        <select
          value={form.isForSome ? 'some' : 'all'}
          onChange={(event) => onChange({ isForSome: event.currentTarget.value === 'some' })}
        >
          <Options texts={{ all: 'All tenants', some: 'Only certain tenants' }} />
        </select>
      </label>
      {form.isForSome && (
        <label>
          IDs of the tenants
          <textarea
            required
            rows={3}
            spellcheck={false}
            value={form.tenants}
            onInput={(event) => onChange({ tenants: event.currentTarget.value })}
          />
          <span class="hint">One on each line. The key sees no other tenant.</span>
        </label>
      )}
    </>
  );
}
