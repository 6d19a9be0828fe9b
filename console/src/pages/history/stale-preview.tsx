import type { Changes, FileChange } from '../../api/api-types.ts';
import { getVersion } from '../../api/history-api.ts';
import { count } from '../../text/format.ts';
import { ActorName, Time } from '../../ui/inline.tsx';
import { PathName } from '../../ui/path-name.tsx';
import { useLoad } from '../../ui/use-load.ts';

const SHOWN = 5;

/** Lists the files that changed between two previews. */
export function StalePreview({ tenant, before, after }: { tenant: string; before: Changes; after: Changes }) {
  const files = findChangedFiles(before, after);
  return (
    <div class="notice warning" role="alert">
      <p>
        <strong>Nothing was done: the memory has changed since the preview.</strong> Look at the new one
        below.
      </p>
      {files.length > 0 && (
        <ul class="clusters stale-changes" aria-label="Changed since the preview">
          {files.slice(0, SHOWN).map(({ path, version }) => (
            <li key={path}>
              <PathName path={path} /> {version && <ChangedBy tenant={tenant} version={version} />}
            </li>
          ))}
          {files.length > SHOWN && <li>and {count(files.length - SHOWN, 'more file')}</li>}
        </ul>
      )}
    </div>
  );
}

/** Shows a version's actor and time. */
function ChangedBy({ tenant, version }: { tenant: string; version: string }) {
  const { data } = useLoad((signal) => getVersion(tenant, version, signal), [tenant, version]);
  return data === undefined ? null : (
    <span>
      {data.operation} by <ActorName actor={data.actor} />, <Time value={data.created_at} />
    </span>
  );
}

/** Returns the files that differ between two previews, with their current version if known. */
function findChangedFiles(before: Changes, after: Changes): { path: string; version: string | null }[] {
  const old = new Set(before.files.map(changeKey));
  const changed = after.files.filter((file) => !old.has(changeKey(file)));
  const paths = new Set(after.files.map(({ path }) => path));
  const gone = before.files.filter(({ path }) => !paths.has(path));
  return [
    ...changed.map(({ path, old_version }) => ({ path, version: old_version })),
    ...gone.map(({ path }) => ({ path, version: null })),
  ];
}

const changeKey = ({ path, old_version, version }: FileChange) =>
  JSON.stringify([path, old_version, version]);
