import { useState } from 'preact/hooks';
import { type TenantSelection, undoRequest } from '../../api/incidents-api.ts';
import { ActorFields } from './actor-fields.tsx';
import { type FormInput, readUndo } from './form-input.ts';
import { JobDialog } from './job-dialog.tsx';

const DEFAULT_SINCE = '1d';

type Fields = Pick<FormInput, 'actorKind' | 'actor' | 'since'>;

interface Props {
  fields: Partial<Fields>;
  tenants: TenantSelection;
  /** The tenants in words. */
  where: string;
  /** The incident's first job, if the revert is part of an incident. */
  incident?: string;
  onClose: () => void;
}

/** Starts the dry run for a revert over many tenants. */
export function UndoDialog({ fields, tenants, where, incident, onClose }: Props) {
  const [input, setInput] = useState<Fields>({
    actorKind: fields.actorKind ?? 'by',
    actor: fields.actor ?? '',
    since: fields.since || DEFAULT_SINCE,
  });
  const body = readUndo(input, tenants);
  return (
    <JobDialog
      title="Undo the changes by an actor"
      verb="Dry run"
      request={body === null ? undefined : undoRequest({ ...body, ...(incident && { incident }) })}
      onClose={onClose}
    >
      <p>
        Will undo the changes by one actor, or by the keys of one source, in <strong>{where}</strong>. Changes
        by others in other lines will stay. The dry run only lists the changes.
      </p>
      <ActorFields input={input} onChange={(changes) => setInput({ ...input, ...changes })} isFocused />
    </JobDialog>
  );
}
