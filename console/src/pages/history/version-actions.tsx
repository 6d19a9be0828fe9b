import { useState } from 'preact/hooks';
import { actorText } from '../../../../src/core/memory/origin.ts';
import type { Version } from '../../api/api-types.ts';
import { canWrite } from '../../api/session-state.ts';
import { pushQuery, toHref } from '../../router.ts';
import { actorFilter } from '../../text/actor.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IncidentLink } from '../incidents/incident-link.tsx';
import { ChooseVersionDialog } from './choose-version-dialog.tsx';
import { RedactDialog } from './redact-dialog.tsx';
import { RestoreDialog } from './restore.ts';
import { RevertDialog } from './revert-dialog.tsx';

export function VersionActions({ tenant, version }: { tenant: string; version: Version }) {
  const [dialog, setDialog] = useState<'compare' | 'restore' | 'revert' | 'redact' | null>(null);
  const { id, path, operation, created_at, actor } = version;
  const by = actorFilter(actor);
  const onClose = () => setDialog(null);
  const place = operation === 'deleted' ? {} : { path };
  const restorable = restoreOption(version);
  return (
    <div class="toolbar" role="toolbar" aria-label="Version">
      <a class="button" href={toHref(['tenants', tenant], { at: created_at, ...place })}>
        <Icon name="clock" /> See the memory then
      </a>
      {path !== null && <Button icon="compare" text="Compare with…" onClick={() => setDialog('compare')} />}
      {canWrite.value && (
        <>
          {restorable !== null && (
            <Button icon="restore" text="Restore…" onClick={() => setDialog('restore')} />
          )}
          {by !== null && <Button text="Revert actor…" onClick={() => setDialog('revert')} />}
          <IncidentLink isButton actor={actor} since={created_at} />
          {path !== null && (
            <Button text="Redact…" class="danger-quiet" onClick={() => setDialog('redact')} />
          )}
        </>
      )}
      {dialog === 'compare' && path !== null && (
        <ChooseVersionDialog
          tenant={tenant}
          path={path}
          onClose={onClose}
          selected={null}
          other={id}
          onChoose={(against) => pushQuery({ against })}
        />
      )}
      {dialog === 'restore' && restorable !== null && (
        <RestoreDialog tenant={tenant} onClose={onClose} {...restorable} />
      )}
      {dialog === 'revert' && by !== null && (
        <RevertDialog
          tenant={tenant}
          actor={{ by }}
          onClose={onClose}
          name={actorText(actor)}
          since={created_at}
        />
      )}
      {dialog === 'redact' && <RedactDialog tenant={tenant} version={version} onClose={onClose} />}
    </div>
  );
}

/** Returns the version to restore: for a deletion, the version before it. */
function restoreOption({ id, path, operation, previous_version }: Version) {
  if (path === null) return null;
  if (operation !== 'deleted') return { target: { version: id }, what: `${path} as this version left it` };
  if (previous_version === null) return null;
  return { target: { version: previous_version }, what: `${path} as it was before this deletion` };
}
