import { useEffect, useRef, useState } from 'preact/hooks';
import { exportArchive } from '../../api/transfer-api.ts';
import { count } from '../../text/format.ts';
import { LEAVE } from '../../ui/confirm.tsx';
import { CheckField } from '../../ui/fields.tsx';
import { Icon } from '../../ui/icon.tsx';
import { save } from '../../ui/save.ts';
import { ErrorText } from '../../ui/status-messages.tsx';
import { useAction } from '../../ui/use-load.ts';
import { BulkDialog, type BulkProps } from '../tenants/bulk/bulk-dialog.tsx';
import { isOver } from '../tenants/bulk/bulk-run.ts';
import type { Target } from '../tenants/bulk/targets.ts';

/** Downloads several tenants' memories as one archive that contains an archive per tenant. */
export function ExportDialog(props: BulkProps) {
  const [withHistory, setWithHistory] = useState(false);
  const [saved, setSaved] = useState(0);
  const archives = useRef(new Map<string, Blob>());
  const read = async ({ id }: Target, signal: AbortSignal) => {
    archives.current.set(id, await exportArchive(id, { history: withHistory }, () => {}, signal));
  };
  return (
    <BulkDialog
      {...props}
      verb="Export"
      title={`Export ${count(props.targets.count, 'memory', 'memories')}?`}
      done="Exported"
      // The service limits exports that run at the same time.
      atOnce={1}
      work={read}
      unsaved={{ is: () => archives.current.size > saved, question: QUESTION }}
      results={(outcomes) => (
        <Archives
          archives={archives.current}
          isComplete={outcomes.every(isOver)}
          isSaved={archives.current.size === saved}
          onSaved={() => setSaved(archives.current.size)}
        />
      )}
    >
      <p>
        Downloads one tar archive with an archive for each tenant. Each archive can be imported into a tenant.
      </p>
      <CheckField checked={withHistory} onChange={setWithHistory}>
        With the history
      </CheckField>
    </BulkDialog>
  );
}

const QUESTION = { ...LEAVE, title: 'Leave without the archives?', text: 'You have not downloaded them.' };

interface ArchivesProps {
  archives: ReadonlyMap<string, Blob>;
  /** Whether each tenant is exported, so that the download starts by itself. */
  isComplete: boolean;
  isSaved: boolean;
  onSaved: () => void;
}

/** Downloads the exported tenants' archives. */
function Archives({ archives, isComplete, isSaved, onSaved }: ArchivesProps) {
  const action = useAction();
  const download = () =>
    action.run(async () => {
      const [first, ...others] = archives;
      if (first === undefined) return;
      const { packArchives } = await import('../../api/pack-archive.ts');
      const files = [...archives].map(([tenant, archive]) => ({ name: `${tenant}.tar`, archive }));
      if (others.length === 0) save(first[1], `${first[0]}.tar`);
      else save(await packArchives(files), 'memories.tar');
      onSaved();
    });
  useEffect(() => {
    if (isComplete && !isSaved) void download();
  }, [isComplete]);
  if (archives.size === 0) return null;
  return (
    <>
      <div class="buttons">
        <button type="button" disabled={action.isRunning} onClick={download}>
          <Icon name="download" /> Download {count(archives.size, 'archive')}
          {isSaved && ' again'}
        </button>
      </div>
      <ErrorText message={action.error} />
    </>
  );
}
