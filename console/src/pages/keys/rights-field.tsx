import type { Right } from '../../api/api-types.ts';
import { FieldRows } from '../../ui/field-rows.tsx';
import { Options } from '../../ui/options.tsx';

/** The service's maximum number of rights. */
const MAX_RIGHTS = 32;
/** A path at or below the root. The service checks the path completely. */
const PATH = '/memories(/.*)?';

const LEVELS = {
  none: 'No access',
  read_only: 'Read only',
  propose: 'Propose',
  read_write: 'Read and write',
};

interface Props {
  rights: readonly Right[];
  onChange: (rights: Right[]) => void;
}

export function RightsField({ rights, onChange }: Props) {
  return (
    <FieldRows
      title="Rights by path"
      noun="right"
      verb="Add a right"
      rows={rights}
      newRow={{ path: '', access: 'read_only' }}
      max={MAX_RIGHTS}
      onChange={onChange}
      fields={(right, name, change) => (
        <>
          <input
            required
            pattern={PATH}
            title="A path at or below /memories"
            spellcheck={false}
            aria-label={`Path of ${name}`}
            placeholder="/memories/shared"
            value={right.path}
            onInput={(event) => change({ path: event.currentTarget.value })}
          />
          <select
            aria-label={`Access of ${name}`}
            value={right.access}
            onChange={(event) => change({ access: event.currentTarget.value as Right['access'] })}
          >
            <Options texts={LEVELS} />
          </select>
        </>
      )}
    >
      <span class="hint">
        For a file, or a directory with everything below it. The longest path applies, and no right exceeds
        the access of the key.
      </span>
    </FieldRows>
  );
}

export const RIGHT_TEXTS = {
  none: 'hidden:',
  read_only: 'read only:',
  propose: 'propose:',
  read_write: 'read, write:',
};

/** Describes rights by path in one line. */
export const rightsText = (rights: readonly Right[]) =>
  rights.map(({ path, access }) => `${RIGHT_TEXTS[access]} ${path}`).join(', ');
