import { pathText } from '../text/path-text.tsx';
import { visibleText } from '../text/visible.tsx';

/** Minimum number of visible characters in the directories. */
const STAYS = 4;

/** A path on one line, without the root. Directories are truncated before the name. The tooltip shows the full path. */
export function PathName({ path, isShorter = false }: { path: string; isShorter?: boolean }) {
  const shown = path.replace('/memories/', '');
  const name = shown.lastIndexOf('/') + 1;
  const directory = name > STAYS ? 'name-text stays' : 'name-text';
  return (
    <bdi class={isShorter ? 'path-name is-shorter' : 'path-name'} dir="ltr" title={visibleText(path)}>
      {name > 0 && <span class={directory}>{pathText(shown.slice(0, name))}</span>}
      <span class="name-text">{pathText(shown.slice(name))}</span>
    </bdi>
  );
}

/** A path, or a moved file's old and new path. */
export function MovedPath({ from, path }: { from: string | null; path: string }) {
  const other = from === path ? null : from;
  return (
    <span class="moved-path">
      {other !== null && (
        <>
          <PathName path={other} isShorter={other.length <= path.length} /> <span class="muted">→</span>{' '}
        </>
      )}
      <PathName path={path} isShorter={other !== null && other.length > path.length} />
    </span>
  );
}
