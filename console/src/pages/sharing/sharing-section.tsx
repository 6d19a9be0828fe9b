import { useState } from 'preact/hooks';
import { type ApiRequest, sendEmpty } from '../../api/api-client.ts';
import { noteChange } from '../../api/change-signals.ts';
import { canManage, session } from '../../api/session-state.ts';
import {
  type GivenShare,
  type Invitation,
  invitationRevocation,
  listInvitations,
  listShares,
  type ReceivedShare,
  shareEnd,
} from '../../api/sharing-api.ts';
import { count } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { ActionDialog } from '../../ui/dialog.tsx';
import { Time } from '../../ui/inline.tsx';
import { Load } from '../../ui/load.tsx';
import { MountProblem } from '../../ui/mount-problem.tsx';
import { Name } from '../../ui/name.tsx';
import { RowButton } from '../../ui/row-button.tsx';
import { Empty } from '../../ui/status-messages.tsx';
import { Table } from '../../ui/table.tsx';
import { TenantLink } from '../../ui/tenant-link.tsx';
import { toast } from '../../ui/toasts.ts';
import { useLoad } from '../../ui/use-load.ts';
import { MOUNT_ACCESS_TEXTS, Prefix } from '../settings/mount-fields.tsx';
import { AcceptDialog } from './accept-dialog.tsx';
import { NewInvitationDialog } from './new-invitation-dialog.tsx';

const MIN_WIDTH = 600;

/** The end of a share or an invitation. */
interface End {
  title: string;
  verb: string;
  consequence: string;
  request: ApiRequest;
}

/** Lists a tenant's invitations and shares, with their actions. */
export function SharingSection({ tenant }: { tenant: string }) {
  const [dialog, setDialog] = useState<'invite' | 'accept' | End | null>(null);
  const close = () => setDialog(null);
  const end = (id: string) => setDialog({ ...END, request: shareEnd(tenant, id) });
  const isOn = session.value?.sharing === true;
  const sharing = useLoad(
    async (signal) => {
      const [invitations, shares] = await Promise.all([
        listInvitations(tenant, signal),
        listShares(tenant, signal),
      ]);
      return { invitations, ...shares };
    },
    [tenant],
    'sharing',
  );
  return (
    <>
      <div class="page-head">
        <h2>Sharing</h2>
        <span class="spacer" />
        {canManage.value && isOn && (
          <>
            <Button text="Accept…" onClick={() => setDialog('accept')} />
            <Button icon="plus" text="Invite…" onClick={() => setDialog('invite')} />
          </>
        )}
      </div>
      <p class="muted small">
        {isOn ? (
          'A tenant that accepts an invitation mounts the memory of the tenant that invites it.'
        ) : (
          <>
            Sharing is off, so nobody creates or accepts invitations. Set <code>SHARING=on</code> to allow it.
            Shares that exist remain.
          </>
        )}
      </p>
      <Load of={sharing} what="shares">
        {({ invitations, given, received }) => (
          <>
            {invitations.length + given.length + received.length === 0 && (
              <Empty title="No invitations, and no shares" />
            )}
            {invitations.length > 0 && (
              <Invitations
                invitations={invitations}
                onRevoke={(id) => setDialog({ ...REVOKE, request: invitationRevocation(tenant, id) })}
              />
            )}
            <ShareTable title="Shared with" shares={given} onEnd={end} />
            <ShareTable title="Shared by" shares={received} onEnd={end} />
          </>
        )}
      </Load>
      {dialog === 'invite' && (
        <NewInvitationDialog tenant={tenant} onClose={close} onCreated={sharing.reload} />
      )}
      {dialog === 'accept' && <AcceptDialog tenant={tenant} onClose={close} />}
      {dialog !== null && typeof dialog === 'object' && <EndDialog {...dialog} onClose={close} />}
    </>
  );
}

const REVOKE = {
  title: 'Revoke the invitation?',
  verb: 'Revoke',
  consequence: 'Nobody can accept it any more. Shares that were accepted before remain.',
};
const END = {
  title: 'End the share?',
  verb: 'End',
  consequence:
    'The directory disappears from the receiving tenant within AUTH_CACHE_SECONDS (10 seconds by default). Both memories keep their files.',
};

interface InvitationsProps {
  invitations: Invitation[];
  onRevoke: (id: string) => void;
}

function Invitations({ invitations, onRevoke }: InvitationsProps) {
  return (
    <Table minWidth={MIN_WIDTH} columns={['Invitation', 'Access', 'For', 'Expires', '']}>
      {invitations.map(({ id, access, prefix, reusable, accepted, key, expires_at }) => (
        <tr key={id}>
          <th scope="row">
            <code>{id}</code>
            <span class="muted small block">{key === null ? 'by an operator' : `by ${key}`}</span>
            <Prefix path={prefix} />
          </th>
          <td data-title="Access">{MOUNT_ACCESS_TEXTS[access]}</td>
          <td data-title="For">
            <div>
              {reusable ? 'several tenants' : 'one tenant'}
              {reusable && <span class="muted small block">accepted {count(accepted, 'time')}</span>}
            </div>
          </td>
          <td class="muted" data-title="Expires">
            <Time value={expires_at} isAge />
          </td>
          <td class="actions">
            {canManage.value && <RowButton text="Revoke" of={id} onClick={() => onRevoke(id)} />}
          </td>
        </tr>
      ))}
    </Table>
  );
}

interface ShareTableProps {
  title: string;
  shares: (GivenShare | ReceivedShare)[];
  onEnd: (id: string) => void;
}

function ShareTable({ title, shares, onEnd }: ShareTableProps) {
  if (shares.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <Table minWidth={MIN_WIDTH} columns={['Tenant', 'Access', 'Since', '']}>
        {shares.map((share) => (
          <tr key={share.id}>
            <th scope="row">
              {share.tenant === null ? 'another tenant' : <TenantLink id={share.tenant} />}
              {'path' in share && (
                <span class="small block">
                  as <Name text={share.path} /> <MountProblem status={share.status} />
                </span>
              )}
              <Prefix path={share.prefix} />
              <code class="muted block">{share.id}</code>
            </th>
            <td data-title="Access">{MOUNT_ACCESS_TEXTS[share.access]}</td>
            <td class="muted" data-title="Since">
              <Time value={share.created_at} isAge />
            </td>
            <td class="actions">
              {canManage.value && <RowButton text="End" of={share.id} onClick={() => onEnd(share.id)} />}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

/** Ends a share or an invitation. */
function EndDialog({ title, verb, consequence, request, onClose }: End & { onClose: () => void }) {
  const end = async () => {
    await sendEmpty(request);
    noteChange();
    toast(verb === END.verb ? 'Ended the share.' : 'Revoked the invitation.');
    onClose();
  };
  return (
    <ActionDialog title={title} verb={verb} isDangerous request={request} onClose={onClose} onSubmit={end}>
      <p>{consequence}</p>
    </ActionDialog>
  );
}
