import { useState } from 'preact/hooks';
import { keepOutRequest, listOutcomes, sendKeepOut } from '../../api/incidents-api.ts';
import { canManageFleet } from '../../api/session-state.ts';
import { count, formatNumber } from '../../text/format.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { toast } from '../../ui/toasts.ts';
import { type Choice, isChosen } from './choice.ts';
import { IncidentText } from './incident-text.tsx';

/** Most tenants for which the console adds separate entries. */
const MAX_TENANTS = 200;

/** Places to keep a text out of, by the value in the field. */
type Places = Record<string, Place>;

interface Place {
  name: string;
  /** Lists the tenants; null for all tenants, present and future. */
  tenants: ((signal: AbortSignal) => Promise<string[]>) | null;
}

export const EVERYWHERE: Places = { all: { name: 'All tenants', tenants: null } };

/** Returns the places for a job's chosen tenants, as far as the session may use them. */
export function placesFor(job: string, choice: Choice, chosen: number): Places {
  const name = `The ${count(chosen, 'chosen tenant')}`;
  const tenants = (signal: AbortSignal) => chosenIds(job, choice, signal);
  return {
    ...(canManageFleet.value && EVERYWHERE),
    ...(chosen > 0 && chosen <= MAX_TENANTS && { chosen: { name, tenants } }),
  };
}

interface Props {
  text: string | undefined;
  label: string;
  places: Places;
  /** Whether the text is a job's, so that only the tab that started the job knows it. */
  isNew?: boolean;
  onClose: () => void;
  onDone: () => void;
}

/** Keeps a text out of new writes. */
export function KeepOutDialog({
  text: known = '',
  label: given,
  places,
  isNew = false,
  onClose,
  onDone,
}: Props) {
  const [value, setValue] = useState(Object.keys(places)[0] ?? '');
  const [text, setText] = useState(known);
  const [label, setLabel] = useState(given);
  const [progress, setProgress] = useState('Keeping the text out');
  const place = places[value];
  const body = { text, label };
  const keepOut = async (signal: AbortSignal) => {
    const tenants = (await place?.tenants?.(signal)) ?? [null];
    for (const [i, tenant] of tenants.entries()) {
      if (signal.aborted) return;
      if (tenant !== null) setProgress(`${formatNumber(i)} of ${count(tenants.length, 'tenant')}`);
      await sendKeepOut(keepOutRequest(tenant, body));
    }
    toast('The text is kept out of new writes.');
    onDone();
    onClose();
  };
  return (
    <ActionDialog
      title="Keep a text out"
      verb="Keep out"
      doing={progress}
      isReady={text !== '' && place !== undefined}
      hasInput={text !== known || label !== given}
      request={place?.tenants === null ? keepOutRequest(null, body) : undefined}
      onClose={onClose}
      onSubmit={keepOut}
    >
      {place === undefined ? (
        <p class="notice warning">
          Your key cannot keep a text out of all tenants. Choose at most {MAX_TENANTS} tenants.
        </p>
      ) : (
        <p>
          New writes that contain the text are rejected or masked, also in other case, spacing, or grouping of
          digits. Stored files keep it, so erase the text first. The service stores only a keyed hash.
        </p>
      )}
      <IncidentText text={text} isKnown={isNew || known !== ''} onInput={setText} />
      <SelectField
        label="Where"
        texts={Object.fromEntries(Object.entries(places).map(([key, { name }]) => [key, name]))}
        value={value}
        onChange={setValue}
      />
      <TextField
        label="Label"
        hint="The reason or the name of the incident, never the text."
        maxLength={255}
        value={label}
        onChange={setLabel}
      />
    </ActionDialog>
  );
}

/** Lists a job's chosen tenants. */
async function chosenIds(job: string, choice: Choice, signal: AbortSignal): Promise<string[]> {
  if (!choice.isAll) return Object.keys(choice.tenants);
  const ids: string[] = [];
  for (let after: string | null = null; ; ) {
    const page = await listOutcomes(job, { after }, signal);
    ids.push(...page.tenants.map(({ tenant }) => tenant).filter((tenant) => isChosen(choice, tenant)));
    after = page.next;
    if (after === null) return ids;
  }
}
