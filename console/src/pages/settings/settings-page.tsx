import { Fragment } from 'preact';
import { changesMade } from '../../api/changes.ts';
import { messageOf } from '../../api/client.ts';
import { canManageFleet, canWrite } from '../../api/session.ts';
import { getUsage } from '../../api/tenants.ts';
import type { Tenant } from '../../api/types.ts';
import { count, formatBytes, formatNumber } from '../../text/format.ts';
import { visible } from '../../text/visible.tsx';
import { Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { UsageBar } from '../../ui/usage-bar.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { KeysSection } from '../keys/keys-section.tsx';
import { detailsFormOf } from '../tenants/details-fields.tsx';
import { DangerZone } from './danger-zone.tsx';
import { DetailsForm } from './details-form.tsx';
import { LimitsForm } from './limits-form.tsx';
import { MountsSection } from './mounts.tsx';
import { RenameCopy } from './rename-copy.tsx';
import { Transfer } from './transfer.tsx';

export function SettingsPage({ tenant }: { tenant: Tenant }) {
  return (
    <div class="settings">
      <section class="card">
        <Usage tenant={tenant} />
      </section>
      <section class="card">
        <KeysSection tenant={tenant.id} />
      </section>
      <section class="card">
        <MountsSection tenant={tenant.id} />
      </section>
      {canWrite.value && tenant.archived_at === null ? (
        <section class="card">
          <DetailsForm key={JSON.stringify(detailsFormOf(tenant))} tenant={tenant} />
        </section>
      ) : (
        isDescribed(tenant) && (
          <section class="card">
            <Details tenant={tenant} />
          </section>
        )
      )}
      <section class="card">
        <LimitsForm key={JSON.stringify(tenant.settings)} tenant={tenant} />
      </section>
      <section class="card">
        <Transfer tenant={tenant.id} />
      </section>
      {canManageFleet.value && (
        <section class="card">
          <RenameCopy tenant={tenant} />
        </section>
      )}
      {canWrite.value && (
        <section class="card">
          <DangerZone tenant={tenant} />
        </section>
      )}
    </div>
  );
}

function isDescribed({ id, name, description, metadata, archived_at }: Tenant): boolean {
  return name !== id || description !== '' || Object.keys(metadata).length > 0 || archived_at !== null;
}

/** User-supplied name, description, and metadata of a tenant. */
function Details({ tenant: { name, description, metadata, archived_at } }: { tenant: Tenant }) {
  return (
    <>
      <h2>Details</h2>
      <dl class="facts are-texts">
        <dt>Name</dt>
        <dd>
          <bdi>{visible(name)}</bdi>
        </dd>
        {description !== '' && (
          <>
            <dt>Description</dt>
            <dd>
              <bdi>{visible(description)}</bdi>
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
              <bdi>{visible(value)}</bdi>
            </dd>
          </Fragment>
        ))}
      </dl>
    </>
  );
}

function Usage({ tenant }: { tenant: Tenant }) {
  const { files, bytes, history_bytes, history_versions, effective, created_at } = tenant;
  const { data, error } = useLoad((signal) => getUsage(tenant.id, signal), [tenant.id, changesMade.value]);
  return (
    <>
      <h2>Usage</h2>
      <dl class="facts">
        <dt>Files</dt>
        <dd>
          <UsageBar label="Files" used={files} limit={effective.max_files} format={formatNumber} />
        </dd>
        <dt>Size</dt>
        <dd>
          <UsageBar label="Size" used={bytes} limit={effective.max_bytes} format={formatBytes} />
        </dd>
        <dt>History</dt>
        <dd>
          <UsageBar
            label="History"
            used={history_bytes}
            limit={effective.max_history_bytes}
            format={formatBytes}
          />
          <span class="muted small">{count(history_versions, 'version')}</span>
        </dd>
        <dt>Created</dt>
        <dd>
          <Time value={created_at} />
        </dd>
        <dt>Last activity</dt>
        <dd>
          {error === undefined ? data && <LastActivity at={data.last_activity_at} /> : messageOf(error)}
        </dd>
      </dl>
    </>
  );
}

function LastActivity({ at }: { at: string | null }) {
  return at === null ? 'never' : <Time value={at} isAge />;
}
