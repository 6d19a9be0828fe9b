import { useMemo, useState } from 'preact/hooks';
import { actorText } from '../../../../src/memory/origin.ts';
import { changesMade } from '../../api/changes.ts';
import { diffOfVersion, getVersion } from '../../api/history.ts';
import { canWrite } from '../../api/session.ts';
import type { Version } from '../../api/types.ts';
import { hrefOf, replaceQuery } from '../../router.ts';
import { actorFilter } from '../../text/actor.ts';
import { visible } from '../../text/visible.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { LoadError, Loading } from '../../ui/messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { shownDiff } from './diff-rows.ts';
import { DiffView } from './diff-view.tsx';
import { RedactDialog } from './redact-dialog.tsx';
import { RestoreDialog } from './restore-dialog.tsx';
import { RevertDialog } from './revert-dialog.tsx';

/** What a version changed, and what can be done about it. */
export function VersionPane({ tenant, id }: { tenant: string; id: string }) {
  const { data, error, reload } = useLoad(
    async (signal) => {
      const [version, diff] = await Promise.all([
        getVersion(tenant, id, signal),
        diffOfVersion(tenant, id, signal),
      ]);
      return { version, diff };
    },
    [tenant, id, changesMade.value],
  );
  const files = useMemo(
    () => data?.diff.changes.map((change) => ({ ...shownDiff(change), title: null })) ?? [],
    [data],
  );
  if (error !== undefined) return <LoadError error={error} onRetry={reload} />;
  if (data === undefined) return <Loading what="the version" />;
  return (
    <>
      <VersionHead tenant={tenant} version={data.version} />
      <DiffView files={files} />
    </>
  );
}

function VersionHead({ tenant, version }: { tenant: string; version: Version }) {
  const { path, operation, created_at, actor, redacted_at, redacted_by } = version;
  return (
    <div class="pane-head file-head">
      <button type="button" class="icon-button only-narrow" onClick={() => replaceQuery({ version: null })}>
        <Icon name="back" />
        <span class="visually-hidden">Back to the versions</span>
      </button>
      <div class="file-title version-title">
        <h2>
          <bdi>{path === null ? '(redacted)' : visible(path.replace('/memories/', ''))}</bdi>
        </h2>
        <p class="muted small">
          {operation} by <ActorName actor={actor} /> · <Time value={created_at} />
          {version.request_id !== null && (
            <>
              {' '}
              · request <code>{visible(version.request_id)}</code>
            </>
          )}
        </p>
        {redacted_at !== null && (
          <p class="muted small">
            Redacted <Time value={redacted_at} /> by{' '}
            {redacted_by ? <ActorName actor={redacted_by} /> : 'unknown'}
          </p>
        )}
      </div>
      <VersionActions {...{ tenant, version }} />
    </div>
  );
}

function VersionActions({ tenant, version }: { tenant: string; version: Version }) {
  const [dialog, setDialog] = useState<'restore' | 'revert' | 'redact' | null>(null);
  const { path, operation, created_at, actor } = version;
  const by = actorFilter(actor);
  const onClose = () => setDialog(null);
  const place = operation === 'deleted' ? {} : { path };
  return (
    <div class="toolbar" role="toolbar" aria-label="Version">
      <a class="button" href={hrefOf(['tenants', tenant], { at: created_at, ...place })}>
        <Icon name="clock" /> See the memory then
      </a>
      {canWrite.value && (
        <>
          {path !== null && operation !== 'deleted' && (
            <button type="button" onClick={() => setDialog('restore')}>
              <Icon name="restore" /> Restore…
            </button>
          )}
          {by !== null && (
            <button type="button" onClick={() => setDialog('revert')}>
              Revert actor…
            </button>
          )}
          {path !== null && (
            <button type="button" class="danger-quiet" onClick={() => setDialog('redact')}>
              Redact…
            </button>
          )}
        </>
      )}
      {dialog === 'restore' && (
        <RestoreDialog
          {...{ tenant, onClose }}
          target={{ version: version.id }}
          what={`${path} as this version left it`}
        />
      )}
      {dialog === 'revert' && by !== null && (
        <RevertDialog {...{ tenant, by, onClose }} name={actorText(actor)} since={created_at} />
      )}
      {dialog === 'redact' && <RedactDialog {...{ tenant, version, onClose }} />}
    </div>
  );
}
