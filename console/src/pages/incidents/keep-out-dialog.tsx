import { useState } from 'preact/hooks';
import { keepOutRequest, listOutcomes, sendKeepOut } from '../../api/incidents-api.ts';
import { canManageFleet } from '../../api/session-state.ts';
import { count, formatNumber } from '../../text/format.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Options } from '../../ui/options.tsx';
import { toast } from '../../ui/toasts.ts';
import { useAction } from '../../ui/use-load.ts';
import { type Choice, isChosen } from './choice.ts';

/** Maximum number of tenants for which the console adds separate entries. */
const MAX_TENANTS = 200;

interface Props {
  text: string | undefined;
  job: string;
  choice: Choice;
  /** Number of chosen tenants. */
  chosen: number;
  onClose: () => void;
}

/** Keeps a text out of all memories, or out of the chosen tenants' memories. */
export function KeepOutDialog({ text: known = '', job, choice, chosen, onClose }: Props) {
  const mayChoose = chosen > 0 && chosen <= MAX_TENANTS;
  const places: Record<string, string> = {
    ...(canManageFleet.value && { all: 'All tenants' }),
    ...(mayChoose && { chosen: `The ${count(chosen, 'chosen tenant')}` }),
  };
  const [place, setPlace] = useState(Object.keys(places)[0]);
  const [text, setText] = useState(known);
  const [label, setLabel] = useState('');
  const [done, setDone] = useState(0);
  const action = useAction();
  const body = { text, label };
  const keepOut = () =>
    action.run(async (signal) => {
      if (place === 'all') await sendKeepOut(keepOutRequest(null, body));
      else {
        const tenants = await chosenIds(job, choice, signal);
        for (const [i, tenant] of tenants.entries()) {
          if (signal.aborted) return;
          setDone(i);
          await sendKeepOut(keepOutRequest(tenant, body));
        }
      }
      toast('The text is kept out of new writes.');
      onClose();
    });
  return (
    <FormDialog
      title="Keep a text out"
      verb="Keep out"
      doing={place === 'all' ? 'Keeping the text out' : `${formatNumber(done)} of ${count(chosen, 'tenant')}`}
      isReady={text !== '' && place !== undefined}
      hasInput={text !== known || label !== ''}
      request={place === 'all' ? keepOutRequest(null, body) : undefined}
      action={action}
      onClose={onClose}
      onSubmit={keepOut}
    >
      {place === undefined ? (
        <p class="notice warning">
          Your key cannot keep a text out of all tenants. Choose at most {MAX_TENANTS} tenants.
        </p>
      ) : (
        <p>
          New writes that contain the text are rejected or masked. Stored files keep it, so erase the text
          first. The service stores only a keyed hash.
        </p>
      )}
      <label>
        Text
        <textarea
          rows={2}
          spellcheck={false}
          autofocus={known === ''}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {known === '' && (
          <span class="hint">The service has deleted the text of the job. Type the text again.</span>
        )}
      </label>
      <label>
        Where
        <select value={place} onChange={(event) => setPlace(event.currentTarget.value)}>
          <Options texts={places} />
        </select>
      </label>
      <label>
        Label
        <input value={label} maxLength={255} onInput={(event) => setLabel(event.currentTarget.value)} />
        <span class="hint">The reason or the name of the incident, never the text.</span>
      </label>
    </FormDialog>
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
