import { onlyTenants } from '../../api/session-state.ts';
import { CheckField, SelectField, TextArea, TextField } from '../../ui/fields.tsx';
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
      <SelectField
        label="Access"
        texts={accessLevels(form.kind)}
        value={form.access}
        onChange={(access) => onChange({ access })}
      />
      {mayManageStores(form) && (
        <CheckField checked={form.managesStores} onChange={(managesStores) => onChange({ managesStores })}>
          Manage memory stores, and redact versions
        </CheckField>
      )}
      {mayShare(form) && (
        <CheckField checked={form.canShare} onChange={(canShare) => onChange({ canShare })}>
          Share the memory with other tenants by invitation
        </CheckField>
      )}
      {mayHaveRights(keyOptions(form)) && (
        <RightsField rights={form.rights} onChange={(rights) => onChange({ rights })} />
      )}
      <TextField
        label="Source"
        hint="The source of the writes of the key, recorded in every version."
        maxLength={64}
        placeholder="For example user, web, or import"
        value={form.source}
        onChange={(source) => onChange({ source })}
      />
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
      <SelectField
        label="Tenant"
        texts={Object.fromEntries(own.map((id) => [id, id]))}
        value={form.tenant}
        onChange={(tenant) => onChange({ tenant })}
      />
    );
  }
  return (
    <>
      <SelectField
        label="For"
        texts={KINDS}
        value={form.kind}
        onChange={(kind) => onChange(withKind(form, kind))}
      />
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
      <SelectField
        label="Tenants"
        texts={{ all: 'All tenants', some: 'Only certain tenants' }}
        value={form.isForSome ? 'some' : 'all'}
        onChange={(scope) => onChange({ isForSome: scope === 'some' })}
      />
      {form.isForSome && (
        <TextArea
          label="IDs of the tenants"
          hint="One on each line. The key sees no other tenant."
          required
          rows={3}
          spellcheck={false}
          value={form.tenants}
          onChange={(tenants) => onChange({ tenants })}
        />
      )}
    </>
  );
}
