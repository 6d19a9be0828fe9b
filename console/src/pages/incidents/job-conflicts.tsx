import { listConflicts } from '../../api/incidents-api.ts';
import { toHref } from '../../router.ts';
import { PathName } from '../../ui/path-name.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';

const REASONS: Record<string, string> = {
  content: 'others changed the same lines',
  path: 'others moved the file too',
  deleted_in_reverted: 'others changed a file that the actor created',
  deleted_in_current: 'others deleted the file',
  occupied: 'another file has the path',
  pruned: 'the earlier version is no longer kept',
  redacted: 'the earlier version was redacted',
  resolved: 'an earlier revert resolved the file',
};

/** Lists the files that a revert leaves unchanged in a tenant. */
export function JobConflicts({ job, tenant }: { job: string; tenant: string }) {
  const { data, error, reload } = useLoad((signal) => listConflicts(job, tenant, signal), [job, tenant]);
  if (error !== undefined) return <LoadError error={error} onRetry={reload} />;
  if (data === undefined) return <Loading what="the conflicts" />;
  return (
    <div class="hits">
      {data.conflicts.map(({ path, memory_id, reason }, index) => (
        <p key={memory_id ?? index} class="cluster">
          {path === null ? (
            <span class="muted">(no path)</span>
          ) : (
            <a class="name-link" href={toHref(['tenants', tenant], { path })}>
              <PathName path={path} />
            </a>
          )}
          <span class="muted small">{REASONS[reason] ?? reason}</span>
        </p>
      ))}
      {data.next !== null && <p class="muted small">Further files: resolve them in the tenant.</p>}
    </div>
  );
}
