import { useState } from 'preact/hooks';
import { type EventType, type NewWebhook, sendForSecret, webhookCreation } from '../../api/webhooks-api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Options } from '../../ui/options.tsx';
import { useAction } from '../../ui/use-load.ts';
import { SecretDialog } from '../keys/secret-dialog.tsx';
import { EVENTS } from './webhook-texts.ts';

interface Props {
  /** Null for all tenants' changes. */
  tenant: string | null;
  onClose: () => void;
  onCreated: () => void;
}

/** Creates a webhook, and shows its secret. */
export function NewWebhookDialog({ tenant, onClose, onCreated }: Props) {
  const [webhook, setWebhook] = useState<NewWebhook>({
    tenant,
    url: '',
    types: null,
    path: null,
    content: false,
  });
  const [secret, setSecret] = useState<string | null>(null);
  const action = useAction();
  const { url, types, path, content } = webhook;
  const change = (changes: Partial<NewWebhook>) => setWebhook({ ...webhook, ...changes });
  const request = webhookCreation(webhook);
  const create = () =>
    action.run(async () => {
      setSecret(await sendForSecret(request));
      onCreated();
    });
  if (secret !== null)
    return <SecretDialog title="The new webhook" name="secret" secret={secret} onClose={onClose} />;
  return (
    <FormDialog
      title={tenant === null ? 'New webhook for all tenants' : 'New webhook'}
      verb="Create"
      isReady={url !== '' && types?.length !== 0}
      hasInput={url !== '' || path !== null}
      request={request}
      action={action}
      onClose={onClose}
      onSubmit={create}
    >
      <label>
        URL
        <input
          type="url"
          autofocus
          maxLength={2000}
          placeholder="https://example.com/memory"
          value={url}
          onInput={(event) => change({ url: event.currentTarget.value.trim() })}
        />
        <span class="hint">Receives the messages by POST. Plain http needs WEBHOOK_ALLOWED_ADDRESSES.</span>
      </label>
      <label>
        Events
        <select
          value={types === null ? 'all' : 'some'}
          onChange={(event) => change({ types: event.currentTarget.value === 'all' ? null : [] })}
        >
          <Options texts={{ all: 'All events', some: 'Only certain events' }} />
        </select>
      </label>
      {types !== null && <EventBoxes types={types} onChange={(chosen) => change({ types: chosen })} />}
      <label>
        Path
        <input
          spellcheck={false}
          placeholder="/memories/projects"
          value={path ?? ''}
          onInput={(event) => change({ path: event.currentTarget.value || null })}
        />
        <span class="hint">Only a file, or the files below a directory. Empty for all.</span>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={content}
          onChange={(event) => change({ content: event.currentTarget.checked })}
        />
        Send the contents of files, too
      </label>
    </FormDialog>
  );
}

interface EventBoxesProps {
  types: EventType[];
  onChange: (types: EventType[]) => void;
}

function EventBoxes({ types, onChange }: EventBoxesProps) {
  const all = Object.entries(EVENTS) as [EventType, string][];
  return (
    <fieldset class="grid event-types" aria-label="Events">
      {all.map(([type, text]) => (
        <label key={type} class="check">
          <input
            type="checkbox"
            checked={types.includes(type)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(checked ? [...types, type] : types.filter((each) => each !== type))
            }
          />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
