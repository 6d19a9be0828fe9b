import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AuditEvent } from '../../api/api-types.ts';
import { type AuditQuery, listAudit } from '../../api/audit-api.ts';
import { route, toHref } from '../../router.ts';
import { count, formatNumber } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { type Filter, FilterBar } from '../../ui/filter-bar.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ActorName, Badge, Time } from '../../ui/inline.tsx';
import { LoadPages } from '../../ui/load.tsx';
import { Name, NameLink } from '../../ui/name.tsx';
import { save } from '../../ui/save.ts';
import { ErrorText } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useAction } from '../../ui/use-load.ts';
import { usePages } from '../../ui/use-pages.ts';
import { IncidentLink } from '../incidents/incident-link.tsx';
import { ACTIONS, actionText, canUndo, findActions } from './actions.ts';
import { exportAudit } from './audit-export.ts';

const CHANNELS = {
  admin_api: 'admin API',
  console: 'console',
  command_line: 'command line',
  memory_stores_api: 'Memory Stores API',
  sharing_api: 'Sharing API',
};
const SEARCH = { name: 'action', title: 'Action', suggestions: Object.values(ACTIONS) };
const FILTERS: Record<string, Filter> = {
  tenant_contains: { title: 'Tenant' },
  by_contains: { title: 'Actor' },
  outcome: { title: 'Outcome', texts: { '': 'Any outcome', ok: 'Done', failed: 'Failed' } },
  since: {
    title: 'Time',
    texts: {
      '': 'Any time',
      '1h': 'Last hour',
      '1d': 'Last day',
      '7d': 'Last 7 days',
      '30d': 'Last 30 days',
    },
  },
  tenant: { title: 'Exact tenant', show: (id) => <Name text={id} /> },
};

/** Lists the audit trail with the admins' changes, newest first. */
export function AuditPage() {
  const { query } = route.value;
  const queryValue = (name: string) => query.get(name) ?? '';
  const filter: AuditQuery = {
    tenant: queryValue('tenant'),
    tenant_contains: queryValue('tenant_contains'),
    by_contains: queryValue('by_contains'),
    action: findActions(queryValue('action')),
    outcome: queryValue('outcome'),
    since: queryValue('since'),
  };
  const debounced = useDebounced(JSON.stringify(filter), 200);
  const pages = usePages(
    'events',
    (after, signal) => listAudit(JSON.parse(debounced), after, signal),
    [debounced],
    'audit',
  );
  return (
    <main>
      <div class="page-head">
        <h1>Audit</h1>
        <span class="spacer" />
        <ExportButton query={filter} />
        <Button text="Refresh" onClick={pages.reload} disabled={pages.isLoading} />
      </div>
      <FilterBar query={query} search={SEARCH} filters={FILTERS} />
      <LoadPages
        of={pages}
        what="the audit trail"
        empty={
          Object.values(filter).some(({ length }) => length > 0) ? 'No matching changes' : 'No changes yet'
        }
        more="Show older changes"
      >
        {(events) => (
          <ol class="surface audit-events">
            {events.map((event) => (
              <Event key={event.id} event={event} />
            ))}
          </ol>
        )}
      </LoadPages>
    </main>
  );
}

/** Downloads all events that match the filters. */
function ExportButton({ query }: { query: AuditQuery }) {
  const [rows, setRows] = useState(0);
  const action = useAction();
  const download = () =>
    action.run(async (signal) => {
      setRows(0);
      const { file, rows: written, isCut } = await exportAudit(query, setRows, signal);
      save(file, 'audit.csv');
      if (isCut)
        toast(`The file has the newest ${count(written, 'change')}. Narrow the filters for older changes.`);
    });
  return (
    <>
      <ErrorText message={action.error} />
      <button type="button" disabled={action.isRunning} onClick={download}>
        <Icon name="download" /> {action.isRunning ? `${count(rows, 'row')}…` : 'Download CSV'}
      </button>
    </>
  );
}

/** An event on one line. A button shows the details below the line. */
function Event({ event }: { event: AuditEvent }) {
  const [isOpen, setIsOpen] = useState(false);
  const text = actionText(event.action);
  return (
    <li>
      <div class="cluster audit-row">
        <IconButton
          icon="chevron"
          label={`Details: ${text}`}
          title="Details"
          class="quiet disclosure"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        />
        <span class="row">
          <strong title={event.action}>{text}</strong>
          {event.dry_run && <Badge kind="neutral">dry run</Badge>}
          <Outcome outcome={event.outcome} />
        </span>
        <span class="row audit-target">
          {event.tenant !== null && <NameLink href={toHref(['tenants', event.tenant])} text={event.tenant} />}
          {event.key !== null && <code>{event.key}</code>}
        </span>
        <span class="words muted small">
          by <ActorName actor={event.actor} />
        </span>
        <span class="muted small">
          <Time value={event.at} />
        </span>
        {canUndo(event) && <IncidentLink actor={event.actor} since={event.at} />}
      </div>
      {isOpen && (
        <dl class="cluster audit-details small">
          <Detail name="from">
            {CHANNELS[event.channel]}, {event.address}
          </Detail>
          {Object.entries(event.details).map(([name, value]) => (
            <Detail key={name} name={name}>
              {formatChange(name, value)}
            </Detail>
          ))}
        </dl>
      )}
    </li>
  );
}

function Outcome({ outcome }: { outcome: string | null }) {
  if (outcome === null) return <Badge kind="neutral">unfinished</Badge>;
  return outcome === 'ok' ? null : <Badge kind="bad">{outcome}</Badge>;
}

function Detail({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt class="muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Formats a detail: a link to a job, a changed value's old and new value, or the value. */
function formatChange(name: string, value: unknown): ComponentChildren {
  if ((name === 'job' || name === 'dry_run') && typeof value === 'string')
    return <a href={toHref(['incidents', value])}>{value}</a>;
  return isChange(value) ? `${formatDetail(value.old)} → ${formatDetail(value.new)}` : formatDetail(value);
}

function isChange(value: unknown): value is { old: unknown; new: unknown } {
  return typeof value === 'object' && value !== null && 'old' in value && 'new' in value;
}

function formatDetail(value: unknown): string {
  if (value === null || value === '') return 'none';
  if (typeof value === 'number') return formatNumber(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
