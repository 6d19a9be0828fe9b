import { type ComponentChild, Fragment } from 'preact';
import type { Tenant } from '../../api/api-types.ts';
import { canManageFleet, canWrite } from '../../api/session-state.ts';
import { revealHidden } from '../../text/visible.tsx';
import { Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { Transfer } from '../archive/archive-transfer.tsx';
import { KeptOutSection } from '../incidents/kept-out-section.tsx';
import { KeysSection } from '../keys/keys-section.tsx';
import { SharingSection } from '../sharing/sharing-section.tsx';
import { toDetailsForm } from '../tenants/details-fields.tsx';
import { WebhooksSection } from '../webhooks/webhooks-section.tsx';
import { DangerZone } from './danger-zone.tsx';
import { DetailsForm } from './details-form.tsx';
import { LimitsForm } from './limits-form.tsx';
import { MountsSection } from './mounts-section.tsx';
import { RenameCopy } from './rename-copy.tsx';
import { Usage } from './tenant-usage.tsx';

export function SettingsPage({ tenant }: { tenant: Tenant }) {
  const { id } = tenant;
  const isEditable = canWrite.value && tenant.archived_at === null;
  return (
    <Cards>
      <Usage tenant={tenant} />
      <KeysSection tenant={id} />
      <MountsSection tenant={id} />
      <SharingSection tenant={id} />
      <WebhooksSection tenant={id} />
      {isEditable && <DetailsForm key={JSON.stringify(toDetailsForm(tenant))} tenant={tenant} />}
      {!isEditable && isDescribed(tenant) && <Details tenant={tenant} />}
      <LimitsForm key={JSON.stringify(tenant.settings)} tenant={tenant} />
      <KeptOutSection tenant={id} />
      <Transfer tenant={id} />
      {canManageFleet.value && <RenameCopy tenant={tenant} />}
      {canWrite.value && <DangerZone tenant={tenant} />}
    </Cards>
  );
}

/** Shows each child in a card. */
const Cards = ({ children }: { children: ComponentChild[] }) => (
  <div class="settings">{children.map((child) => child && <section class="card">{child}</section>)}</div>
);

function isDescribed({ id, name, description, metadata, archived_at }: Tenant): boolean {
  return name !== id || description !== '' || Object.keys(metadata).length > 0 || archived_at !== null;
}

/** A tenant's user-supplied name, description, and metadata. */
function Details({ tenant: { name, description, metadata, archived_at } }: { tenant: Tenant }) {
  return (
    <>
      <h2>Details</h2>
      <dl class="facts are-texts">
        <dt>Name</dt>
        <dd>
          <bdi>{revealHidden(name)}</bdi>
        </dd>
        {description !== '' && (
          <>
            <dt>Description</dt>
            <dd>
              <bdi>{revealHidden(description)}</bdi>
            </dd>
          </>
        )}
        {archived_at !== null && (
          <>
            <dt>Archived</dt>
            <dd>
              <Time value={archived_at} />{' '}
              <span class="muted small">Files can only be read and deleted.</span>
            </dd>
          </>
        )}
        {Object.entries(metadata).map(([key, value]) => (
          <Fragment key={key}>
            <dt>
              <Name text={key} />
            </dt>
            <dd>
              <bdi>{revealHidden(value)}</bdi>
            </dd>
          </Fragment>
        ))}
      </dl>
    </>
  );
}
