import { useState } from 'preact/hooks';
import type { Version } from '../../api/api-types.ts';
import { changesMade } from '../../api/change-signals.ts';
import { getVersion, readVersionDiff } from '../../api/history-api.ts';
import { pushQuery } from '../../router.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { MovedPath } from '../../ui/path-name.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { ChooseVersionDialog } from './choose-version-dialog.tsx';
import { type ShownDiff, shownDiff } from './diff-lines.ts';
import { DiffView } from './diff-view.tsx';

interface Props {
  tenant: string;
  /** Version IDs for the old side and the new side. */
  from: string;
  to: string;
}

/** Compares two versions, in any time order. */
export function VersionComparison({ tenant, from, to }: Props) {
  const { data, error, isLoading, reload } = useLoad(
    async (signal) => {
      const [old, now, { changes }] = await Promise.all([
        getVersion(tenant, from, signal),
        getVersion(tenant, to, signal),
        readVersionDiff(tenant, to, signal, from),
      ]);
      return { old, now, files: changes.length === 0 ? [SAME] : changes.map(shownDiff) };
    },
    [tenant, from, to, changesMade.value],
  );
  if (error !== undefined)
    return (
      <>
        <div class="row pane-head">
          <Button text="Close the comparison" onClick={closeComparison} />
        </div>
        <LoadError error={error} onRetry={reload} />
      </>
    );
  if (data === undefined || isLoading) return <Loading what="the comparison" />;
  return (
    <>
      <ComparisonHead tenant={tenant} old={data.old} now={data.now} />
      <DiffView files={data.files} />
    </>
  );
}

const SAME: ShownDiff = { title: null, lines: [], note: 'The content is the same.' };

const closeComparison = () => pushQuery({ against: null });

function ComparisonHead({ tenant, old, now }: { tenant: string; old: Version; now: Version }) {
  const [choosing, setChoosing] = useState<'version' | 'against' | null>(null);
  const path = now.path ?? old.path;
  const isOld = choosing === 'against';
  return (
    <div class="row pane-head file-head">
      <div class="file-title version-title">
        <h2>
          {path === null ? '(redacted)' : <MovedPath from={old.path} path={path} />}
          {path !== null && <CopyButton what="the path" text={path} />}
        </h2>
        <Side title="From" version={old} onChange={() => setChoosing('against')} />
        <Side title="To" version={now} onChange={() => setChoosing('version')} />
      </div>
      <div class="toolbar" role="toolbar" aria-label="Comparison">
        <Button text="Swap" onClick={() => pushQuery({ version: old.id, against: now.id })} />
        <Button icon="close" text="Close the comparison" onClick={closeComparison} />
      </div>
      {choosing !== null && path !== null && (
        <ChooseVersionDialog
          tenant={tenant}
          path={path}
          selected={isOld ? old.id : now.id}
          other={isOld ? now.id : old.id}
          onChoose={(id) => pushQuery({ [choosing]: id })}
          onClose={() => setChoosing(null)}
        />
      )}
    </div>
  );
}

interface SideProps {
  title: string;
  version: Version;
  onChange: () => void;
}

function Side({ title, version: { operation, actor, created_at }, onChange }: SideProps) {
  return (
    <p class="compared-side small">
      <span class="muted">{title}</span>
      <Time value={created_at} />
      <span class="muted words compared-by">
        {operation} by <ActorName actor={actor} />
      </span>
      <button type="button" class="quiet" onClick={onChange}>
        Change…<span class="visually-hidden"> the version on the side {title}</span>
      </button>
    </p>
  );
}
