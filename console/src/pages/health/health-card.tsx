import { useState } from 'preact/hooks';
import { getHealth } from '../../api/memory-api.ts';
import type { HealthFinding, MemoryHealth } from '../../api/schema.ts';
import { toHref } from '../../router.ts';
import { count, formatNumber } from '../../text/format.ts';
import { visibleText } from '../../text/visible.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { PathName } from '../../ui/path-name.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { useAction } from '../../ui/use-load.ts';
import { WorkProgress } from '../../ui/work-progress.tsx';

/** Number of items that are shown for each finding. */
const SHOWN = 5;

/** Findings about a memory's files. The service reads every file, so a user asks for them. */
export function HealthCard({ tenant }: { tenant: string }) {
  const [health, setHealth] = useState<MemoryHealth | null>(null);
  const check = useAction();
  const found = health?.findings.filter(({ total }) => total > 0);
  return (
    <section aria-label="Health">
      <h2>Health</h2>
      <p class="muted small">
        {health === null
          ? 'Finds unread, similar, and large files, secrets, and broken links.'
          : `Examined ${formatNumber(health.examined)} of ${count(health.files, 'file')}.`}
      </p>
      {check.isRunning ? (
        <WorkProgress what="Examining the files" fraction={null} />
      ) : (
        <Button
          text={health === null ? 'Examine the files' : 'Examine again'}
          onClick={() => check.run(async (signal) => setHealth(await getHealth(tenant, signal)))}
        />
      )}
      <ErrorText message={check.error} />
      {found?.length === 0 && <p class="small">No findings</p>}
      {found?.map((finding) => (
        <Finding key={finding.kind} tenant={tenant} finding={finding} />
      ))}
    </section>
  );
}

function Finding({ tenant, finding }: { tenant: string; finding: HealthFinding }) {
  const { title, total, items, command } = finding;
  return (
    <section aria-label={title}>
      <h3>
        {title}: {formatNumber(total)}
      </h3>
      <ul class="clusters summary-rows">
        {items.slice(0, SHOWN).map(({ path, detail }) => (
          <li key={`${path} ${detail}`}>
            <a class="name-link" href={toHref(['tenants', tenant], { path })}>
              <PathName path={path} />
            </a>
            <span class="muted small row summary-by">{visibleText(detail)}</span>
          </li>
        ))}
      </ul>
      {total > SHOWN && <p class="muted small">and {formatNumber(total - SHOWN)} more</p>}
      {command !== null && (
        <p class="small">
          <code>{visibleText(command)}</code> <CopyButton text={command} what="the command" />
        </p>
      )}
    </section>
  );
}
