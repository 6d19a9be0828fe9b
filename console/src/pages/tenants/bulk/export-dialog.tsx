import { useRef, useState } from 'preact/hooks';
import { exportArchive } from '../../../api/transfer.ts';
import { count } from '../../../text/format.ts';
import { save } from '../../../ui/save.ts';
import { BulkDialog, type BulkProps } from './bulk-dialog.tsx';
import type { Target } from './targets.ts';

/** Downloads the memories of several tenants as one archive of archives. */
export function ExportDialog(props: BulkProps) {
  const [withHistory, setWithHistory] = useState(false);
  const archives = useRef<{ name: string; archive: Blob }[]>([]);
  const download = async ({ id }: Target, signal: AbortSignal) => {
    const archive = await exportArchive(id, { history: withHistory }, () => {}, signal);
    archives.current.push({ name: `${id}.tar`, archive });
  };
  const finish = async () => {
    const [first, ...others] = archives.current;
    if (first === undefined) return;
    const { archiveOfArchives } = await import('../../../api/archive.ts');
    const isOne = others.length === 0;
    save(
      isOne ? first.archive : await archiveOfArchives(archives.current),
      isOne ? first.name : 'memories.tar',
    );
  };
  return (
    <BulkDialog
      {...props}
      verb="Export"
      title={`Export ${count(props.targets.count, 'memory', 'memories')}?`}
      done="Exported"
      // The service limits exports that run at the same time.
      atOnce={1}
      work={download}
      finish={finish}
    >
      <p>
        Downloads one tar archive with an archive for each tenant. Each archive can be imported into a tenant.
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={withHistory}
          onChange={(event) => setWithHistory(event.currentTarget.checked)}
        />
        With the history
      </label>
    </BulkDialog>
  );
}
