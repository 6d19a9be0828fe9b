import { useState } from 'preact/hooks';
import { type EventType, type NewWebhook, sendForSecret, webhookCreation } from '../../api/webhooks-api.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { CheckField, SelectField, TextField } from '../../ui/fields.tsx';
import { SecretDialog } from '../keys/secret-dialog.tsx';
import { EVENTS } from './webhook-texts.ts';

interface Props {
  /** Null for all tenants' changes. */
  tenant: string | null;
  /** Chosen events; null for all. */
  initialTypes: EventType[] | null;
  onClose: () => void;
  onCreated: () => void;
}

/** Creates a webhook, and shows its secret. */
export function NewWebhookDialog({ tenant, initialTypes, onClose, onCreated }: Props) {
  const [webhook, setWebhook] = useState<NewWebhook>({
    tenant,
    url: '',
    types: initialTypes,
    path: null,
    content: false,
  });
  const [secret, setSecret] = useState<string | null>(null);
  const { url, types, path, content } = webhook;
  const change = (changes: Partial<NewWebhook>) => setWebhook({ ...webhook, ...changes });
  const request = webhookCreation(webhook);
  const create = async () => {
    setSecret(await sendForSecret(request));
    onCreated();
  };
  if (secret !== null)
    return <SecretDialog title="The new webhook" name="secret" secret={secret} onClose={onClose} />;
  return (
    <ActionDialog
      title={tenant === null ? 'New webhook for all tenants' : 'New webhook'}
      verb="Create"
      isReady={url !== '' && types?.length !== 0}
      hasInput={url !== '' || path !== null}
      request={request}
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
      <SelectField
        label="Events"
        texts={{ all: 'All events', some: 'Only certain events' }}
        value={types === null ? 'all' : 'some'}
        onChange={(choice) => change({ types: choice === 'all' ? null : [] })}
      />
      {types !== null && <EventBoxes types={types} onChange={(chosen) => change({ types: chosen })} />}
      <TextField
        label="Path"
        hint="Only a file, or the files below a directory. Empty for all."
        spellcheck={false}
        placeholder="/memories/projects"
        value={path ?? ''}
        onChange={(text) => change({ path: text || null })}
      />
      <CheckField checked={content} onChange={(checked) => change({ content: checked })}>
        Send the contents of files, too
      </CheckField>
    </ActionDialog>
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
        <CheckField
          key={type}
          checked={types.includes(type)}
          onChange={(checked) => onChange(checked ? [...types, type] : types.filter((each) => each !== type))}
        >
          {text}
        </CheckField>
      ))}
    </fieldset>
  );
}
