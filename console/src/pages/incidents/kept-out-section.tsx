import { useState } from 'preact/hooks';
import { sendEmpty } from '../../api/api-client.ts';
import { allowRequest, type KeptOut, listKeptOut } from '../../api/incidents-api.ts';
import { canManageFleet, canWrite } from '../../api/session-state.ts';
import { count } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { ActionDialog } from '../../ui/dialog.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { LoadPages } from '../../ui/load.tsx';
import { Name } from '../../ui/name.tsx';
import { RowButton } from '../../ui/row-button.tsx';
import { Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toasts.ts';
import { usePages } from '../../ui/use-pages.ts';
import { EVERYWHERE, KeepOutDialog } from './keep-out-dialog.tsx';

const MIN_WIDTH = 560;
const NO_LABEL = 'no label';

/**
 * Lists the entries for texts that are kept out, and allows a text again.
 *
 * @param tenant null for the texts that are kept out of all memories
 */
export function KeptOutSection({ tenant }: { tenant: string | null }) {
  const [isAdding, setIsAdding] = useState(false);
  const [removing, setRemoving] = useState<KeptOut | null>(null);
  const pages = usePages(
    'entries',
    (after, signal) => listKeptOut(tenant, after, signal),
    [tenant],
    'kept-out',
  );
  const mayChange = tenant === null ? canManageFleet.value : canWrite.value;
  return (
    <>
      <div class="page-head">
        <h2>Texts kept out{tenant === null && ' of all memories'}</h2>
        {mayChange && <Button icon="plus" text="Keep a text out" onClick={() => setIsAdding(true)} />}
      </div>
      <p class="muted small">
        New writes of these texts are rejected or masked. The service stores a keyed hash of each, so only the
        label says which text it is.
      </p>
      <LoadPages of={pages} what="the texts kept out" empty="No texts are kept out" more="Show more texts">
        {(entries) => (
          <Table minWidth={MIN_WIDTH} columns={['Label', 'Length', 'Added', '']}>
            {entries.map((entry) => (
              <tr key={entry.id}>
                <th scope="row">
                  <Name text={entry.label || NO_LABEL} />
                  <span class="muted small block">
                    <Name text={entry.id} copies="the ID of the entry" />
                  </span>
                </th>
                <td data-title="Length">{count(entry.tokens, 'word')}</td>
                <td data-title="Added" class="muted">
                  <Time value={entry.created_at} isAge /> by <ActorName actor={entry.created_by} />
                </td>
                <td class="actions">
                  {mayChange && (
                    <RowButton
                      text="Allow again…"
                      of={entry.label || entry.id}
                      onClick={() => setRemoving(entry)}
                    />
                  )}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </LoadPages>
      {isAdding && (
        <KeepOutDialog
          isNew
          text={undefined}
          label=""
          places={
            tenant === null ? EVERYWHERE : { one: { name: 'This tenant', tenants: async () => [tenant] } }
          }
          onClose={() => setIsAdding(false)}
          onDone={pages.reload}
        />
      )}
      {removing !== null && (
        <AllowDialog
          tenant={tenant}
          entry={removing}
          onClose={() => setRemoving(null)}
          onDone={pages.reload}
        />
      )}
    </>
  );
}

interface AllowProps {
  tenant: string | null;
  entry: KeptOut;
  onClose: () => void;
  onDone: () => void;
}

function AllowDialog({ tenant, entry, onClose, onDone }: AllowProps) {
  const request = allowRequest(tenant, entry.id);
  const allow = async () => {
    await sendEmpty(request);
    toast('The text is allowed again.');
    onClose();
    onDone();
  };
  return (
    <ActionDialog
      title="Allow the text again?"
      verb="Allow again"
      isDangerous
      request={request}
      onClose={onClose}
      onSubmit={allow}
    >
      <p>
        Agents can write the text <Name text={entry.label || entry.id} />{' '}
        {tenant === null ? 'into every memory' : 'into this memory'} again. To keep it out once more, you need
        the text itself.
      </p>
    </ActionDialog>
  );
}
