import { useState } from 'preact/hooks';
import type { AuditEvent } from '../../api/api-types.ts';
import { type AuditQuery, listAudit } from '../../api/audit-api.ts';
import { replaceQuery, route, toHref } from '../../router.ts';
import { count, formatNumber } from '../../text/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { ActorName, Badge, Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { Options } from '../../ui/options.tsx';
import { save } from '../../ui/save.ts';
import { Empty, ErrorText, LoadError, Loading } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useAction } from '../../ui/use-load.ts';
import { usePages } from '../../ui/use-pages.ts';
import { IncidentLink } from '../incidents/incident-link.tsx';
import { ACTIONS, actionText, canUndo, findActions } from './actions.ts';
import { exportAudit } from './audit-export.ts';

const OUTCOMES = { '': 'Any outcome', ok: 'Done', failed: 'Failed' };
const SPANS = {
  '': 'Any time',
  '1h': 'Last hour',
  '1d': 'Last day',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
};
const CHANNELS = {
  admin_api: 'admin API',
  console: 'console',
  command_line: 'command line',
  memory_stores_api: 'Memory Stores API',
  sharing_api: 'Sharing API',
};
const FIELDS = { tenant_contains: 'Tenant', by_contains: 'Actor', action: 'Action' };

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
  const pages = usePages<AuditEvent>(
    async (after, signal) => {
      const { events, next } = await listAudit(JSON.parse(debounced), after, signal);
      return { items: events, next };
    },
    [debounced],
  );
  return (
    <main>
      <div class="page-head">
        <h1>Audit</h1>
        <span class="spacer" />
        <ExportButton query={filter} />
        <button type="button" onClick={pages.reload} disabled={pages.isLoading}>
          Refresh
        </button>
      </div>
      <div class="filters audit-filters">
        {Object.entries(FIELDS).map(([name, title]) => (
          <label key={name}>
            <span class="visually-hidden">{title}</span>
            <input
              type="search"
              placeholder={title}
              {...(name === 'action' && { list: 'actions' })}
              value={queryValue(name)}
              onInput={(event) => replaceQuery({ [name]: event.currentTarget.value })}
            />
          </label>
        ))}
        <datalist id="actions">
          {Object.entries(ACTIONS).map(([action, text]) => (
            <option key={action} value={text} />
          ))}
        </datalist>
        <Choice name="outcome" title="Outcome" texts={OUTCOMES} value={queryValue('outcome')} />
        <Choice name="since" title="Time" texts={SPANS} value={queryValue('since')} />
        {filter.tenant !== '' && (
          <p class="chip">
            <span class="muted">Of</span> <Name text={filter.tenant} />
            <button type="button" class="icon-button" onClick={() => replaceQuery({ tenant: null })}>
              <Icon name="close" />
              <span class="visually-hidden">Remove the filter by the tenant</span>
            </button>
          </p>
        )}
      </div>
      {pages.error !== undefined && <LoadError error={pages.error} onRetry={pages.reload} />}
      {pages.items !== undefined && (
        <Events events={pages.items} isFiltered={Object.values(filter).some(({ length }) => length > 0)} />
      )}
      {pages.isLoading && pages.items === undefined && <Loading what="the audit trail" />}
      {pages.more && (
        <button type="button" class="more" onClick={pages.more} disabled={pages.isLoading}>
          Show older changes
        </button>
      )}
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

function Choice(props: { name: string; title: string; texts: Record<string, string>; value: string }) {
  return (
    <label>
      <span class="visually-hidden">{props.title}</span>
      <select
        value={props.value}
        onChange={(event) => replaceQuery({ [props.name]: event.currentTarget.value })}
      >
        <Options texts={props.texts} />
      </select>
    </label>
  );
}

function Events({ events, isFiltered }: { events: AuditEvent[]; isFiltered: boolean }) {
  if (events.length === 0) return <Empty title={isFiltered ? 'No matching changes' : 'No changes yet'} />;
  return (
    <ol class="audit-events">
      {events.map((event) => (
        <li key={event.id}>
          <p class="audit-line">
            <strong title={event.action}>{actionText(event.action)}</strong>
            {event.dry_run && <Badge kind="neutral">dry run</Badge>}
            <Outcome outcome={event.outcome} />
            {event.tenant !== null && (
              <a class="name-link" href={toHref(['tenants', event.tenant])}>
                <Name text={event.tenant} />
              </a>
            )}
            {event.key !== null && <code>{event.key}</code>}
          </p>
          <p class="muted small audit-line">
            <Time value={event.at} /> · by <ActorName actor={event.actor} /> · {CHANNELS[event.channel]},{' '}
            {event.address} {canUndo(event) && <IncidentLink actor={event.actor} since={event.at} />}
          </p>
          <Details details={event.details} />
        </li>
      ))}
    </ol>
  );
}

function Outcome({ outcome }: { outcome: string | null }) {
  if (outcome === null) return <Badge kind="neutral">unfinished</Badge>;
  return outcome === 'ok' ? null : <Badge kind="bad">{outcome}</Badge>;
}

/** Lists an audit event's details. A changed value shows the old and the new value. */
function Details({ details }: { details: AuditEvent['details'] }) {
  const rows = Object.entries(details);
  if (rows.length === 0) return null;
  return (
    <dl class="audit-details small">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt class="muted">{name}</dt>
          <dd>
            {(name === 'job' || name === 'dry_run') && typeof value === 'string' ? (
              <a href={toHref(['incidents', value])}>{value}</a>
            ) : isChange(value) ? (
              `${formatDetail(value.old)} → ${formatDetail(value.new)}`
            ) : (
              formatDetail(value)
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isChange(value: unknown): value is { old: unknown; new: unknown } {
  return typeof value === 'object' && value !== null && 'old' in value && 'new' in value;
}

function formatDetail(value: unknown): string {
  if (value === null || value === '') return 'none';
  if (typeof value === 'number') return formatNumber(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
