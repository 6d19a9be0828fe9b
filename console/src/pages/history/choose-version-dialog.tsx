import { listVersions } from '../../api/history-api.ts';
import { Button } from '../../ui/button.tsx';
import { Modal } from '../../ui/modal.tsx';
import { PathName } from '../../ui/path-name.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { usePages } from '../../ui/use-pages.ts';
import { VersionList } from './version-list.tsx';

const PAGE = 100;

interface Props {
  tenant: string;
  /** The file's current or former path. */
  path: string;
  selected: string | null;
  /** The version ID on the other side of the comparison. */
  other: string;
  onChoose: (id: string) => void;
  onClose: () => void;
}

/** Dialog that selects one version of a file, from all paths that the file had. */
export function ChooseVersionDialog({ tenant, path, selected, other, onChoose, onClose }: Props) {
  const { items, error, reload, more } = usePages(
    'versions',
    (after, signal) => listVersions(tenant, { path, after, limit: PAGE }, signal),
    [tenant, path],
  );
  const choose = (id: string) => {
    onClose();
    onChoose(id);
  };
  return (
    <Modal title="Compare with which version?" isWide onClose={onClose}>
      <div class="dialog-body">
        <PathName path={path} />
        {error !== undefined && <LoadError error={error} onRetry={reload} />}
        {items === undefined && error === undefined && <Loading what="versions" />}
        {items?.length === 1 && <p class="notice warning">The file has no other version.</p>}
        {items && (
          <div class="choose-version">
            <VersionList
              versions={items}
              disabled={other}
              onSelect={choose}
              onEnd={more}
              selected={selected}
            />
          </div>
        )}
      </div>
      <footer>
        <Button text="Cancel" onClick={onClose} />
      </footer>
    </Modal>
  );
}
