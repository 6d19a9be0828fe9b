import type { Tenant } from '../../api/api-types.ts';
import { listVersions } from '../../api/history-api.ts';
import { readInstructions } from '../../api/memory-api.ts';
import { toHref } from '../../router.ts';
import { count, formatBytes } from '../../text/format.ts';
import { revealHidden } from '../../text/visible.tsx';
import { ActorName, Badge, Time } from '../../ui/inline.tsx';
import { Load } from '../../ui/load.tsx';
import { MountProblem } from '../../ui/mount-problem.tsx';
import { Name, NameLink } from '../../ui/name.tsx';
import { MovedPath } from '../../ui/path-name.tsx';
import { UsageBar } from '../../ui/usage-bar.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { HealthCard } from '../health/health-card.tsx';
import { ACCESS, type Size } from './tree.ts';

const SHOWN_CHANGES = 8;
/** The element scrolls, so the keyboard must reach it also without a link in it. */
const SCROLLING = { role: 'group', 'aria-label': 'Summary of the memory', tabIndex: 0 } as const;

interface Props {
  tenant: Tenant;
  /** A time, or null for now. */
  at: string | null;
  /** Total size of the files; undefined until they are counted. */
  size: Size | undefined;
}

/** Describes a memory while no file is selected: its size, its last changes, and the text that agents read about it. */
export function MemorySummary({ tenant, at, size }: Props) {
  const { id, effective, mounts } = tenant;
  const isNow = at === null;
  return (
    <div class="stack memory-summary" {...SCROLLING}>
      <section aria-label="Size">
        <h2>{isNow ? 'Size and limits' : 'Size at that time'}</h2>
        <div class="controls summary-usage">
          <UsageBar
            label="Files"
            used={size?.files ?? 0}
            limit={isNow ? effective.max_files : null}
            format={(files) => count(files, 'file')}
          />
          <UsageBar
            label="Size"
            used={size?.bytes ?? 0}
            limit={isNow ? effective.max_bytes : null}
            format={formatBytes}
          />
          {isNow && (
            <span class="muted small">A file has up to {formatBytes(effective.max_file_bytes)}.</span>
          )}
        </div>
      </section>
      <LastChanges tenant={id} at={at} />
      {isNow && mounts.length > 0 && (
        <section aria-label="Mounts">
          <h2>Mounts</h2>
          <ul class="clusters summary-rows">
            {mounts.map(({ name, tenant: source, access, status }) => (
              <li key={name}>
                <Name text={`/memories/${name}`} />
                <Badge kind="neutral">{ACCESS[access]}</Badge>
                {source === null ? (
                  <span class="muted small">of another tenant</span>
                ) : (
                  <NameLink href={toHref(['tenants', source])} text={source} />
                )}
                <MountProblem status={status} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {isNow && <HealthCard key={id} tenant={id} />}
      {isNow && <Instructions tenant={id} mounts={JSON.stringify(mounts)} />}
    </div>
  );
}

function LastChanges({ tenant, at }: { tenant: string; at: string | null }) {
  const changes = useLoad(
    (signal) => listVersions(tenant, { limit: SHOWN_CHANGES, ...(at && { until: at }) }, signal),
    [tenant, at],
    'last-changes',
  );
  return (
    <section aria-label="Last changes">
      <h2>{at === null ? 'Last changes' : 'Last changes until then'}</h2>
      <Load of={changes} what="changes">
        {({ versions, next }) => (
          <>
            {versions.length === 0 && <p class="muted small">No changes</p>}
            <ul class="clusters summary-rows">
              {versions.map(({ id, operation, path, previous_path, actor, via_tenant, created_at }) => (
                <li key={id}>
                  <span class={`change ${operation}`}>{operation}</span>
                  <a class="name-link" href={toHref(['tenants', tenant, 'history'], { version: id })}>
                    {path === null ? '(redacted)' : <MovedPath from={previous_path} path={path} />}
                  </a>
                  <span class="muted small row summary-by">
                    <ActorName actor={actor} via={via_tenant} /> <Time value={created_at} isAge />
                  </span>
                </li>
              ))}
            </ul>
            {next && <a href={toHref(['tenants', tenant, 'history'])}>All changes</a>}
          </>
        )}
      </Load>
    </section>
  );
}

/** @param props.mounts identifies the mounts that the text names */
function Instructions({ tenant, mounts }: { tenant: string; mounts: string }) {
  const instructions = useLoad(
    (signal) => readInstructions(tenant, signal),
    [tenant, mounts],
    'instructions',
  );
  return (
    <section aria-label="Prompt">
      <h2>Text that agents read about the memory</h2>
      <p class="muted small">
        The system prompt of an agent that may write, from the Claude API, MCP, or{' '}
        <code>GET /instructions</code>.
      </p>
      <Load of={instructions} what="the text">
        {({ content }) => <pre class="snippet pre prompt code">{revealHidden(content)}</pre>}
      </Load>
    </section>
  );
}
