import type { Version } from '../../api/api-types.ts';
import { changesMade } from '../../api/change-signals.ts';
import { getVersion, readVersionDiff } from '../../api/history-api.ts';
import { pushQuery, toHref } from '../../router.ts';
import { revealHidden } from '../../text/visible.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { Load } from '../../ui/load.tsx';
import { Name } from '../../ui/name.tsx';
import { PathName } from '../../ui/path-name.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { shownDiff } from './diff-lines.ts';
import { DiffView } from './diff-view.tsx';
import { VersionActions } from './version-actions.tsx';

/** Shows a version's changes, and the actions for the version. */
export function VersionPane({ tenant, id }: { tenant: string; id: string }) {
  const version = useLoad(
    async (signal) => {
      const [version, { changes }] = await Promise.all([
        getVersion(tenant, id, signal),
        readVersionDiff(tenant, id, signal),
      ]);
      return { version, files: changes.map(shownDiff) };
    },
    [tenant, id, changesMade.value],
  );
  return (
    <Load of={version} what="the version">
      {({ version, files }) => (
        <>
          <VersionHead tenant={tenant} version={version} />
          <DiffView files={files} />
        </>
      )}
    </Load>
  );
}

function VersionHead({ tenant, version }: { tenant: string; version: Version }) {
  const { path, previous_path, operation, created_at, actor, redacted_at, redacted_by } = version;
  return (
    <div class="row pane-head file-head">
      <IconButton
        icon="back"
        label="Back to the versions"
        class="only-narrow"
        onClick={() => pushQuery({ version: null })}
      />
      <div class="file-title version-title">
        <h2>
          {path === null ? '(redacted)' : <PathName path={path} />}
          {path !== null && <CopyButton what="the path" text={path} />}
        </h2>
        {previous_path !== null && path !== null && previous_path !== path && (
          <p class="muted small row version-line">
            from <PathName path={previous_path} />
          </p>
        )}
        <p class="muted small">
          {operation} by <ActorName actor={actor} via={version.via_tenant} /> · <Time value={created_at} />
          {version.request_id !== null && (
            <>
              {' '}
              · request <code>{revealHidden(version.request_id)}</code>
            </>
          )}
        </p>
        <Provenance tenant={tenant} version={version} />
        {redacted_at !== null && (
          <p class="muted small">
            Redacted <Time value={redacted_at} /> by{' '}
            {redacted_by ? <ActorName actor={redacted_by} /> : 'unknown'}
          </p>
        )}
      </div>
      <VersionActions tenant={tenant} version={version} />
    </div>
  );
}

/** Shows a version's source and draft, if known. */
function Provenance({ tenant, version }: { tenant: string; version: Version }) {
  const { source, draft, approved_by } = version;
  if (source === null && draft === null) return null;
  return (
    <p class="muted small facts-line provenance">
      {source !== null && (
        <span>
          source <Name text={source} />
        </span>
      )}
      {draft !== null && (
        <span>
          merged from <a href={toHref(['tenants', tenant, 'drafts', draft])}>a draft</a>
          {approved_by && (
            <>
              , approved by <ActorName actor={approved_by} />
            </>
          )}
        </span>
      )}
    </p>
  );
}
