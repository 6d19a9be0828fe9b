import { actorSource, actorTextVia } from '../../../../src/core/memory/origin.ts';
import { type Draft, type DraftsQuery, listDrafts } from '../../api/drafts-api.ts';
import { replaceQuery, route, toHref } from '../../router.ts';
import { formatNumber } from '../../text/format.ts';
import { ActorName, Badge, Time } from '../../ui/inline.tsx';
import { MoreButton } from '../../ui/more-button.tsx';
import { Name } from '../../ui/name.tsx';
import { Options } from '../../ui/options.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { Table } from '../../ui/table.tsx';
import { usePages } from '../../ui/use-pages.ts';
import { STATES } from './draft-texts.ts';

const SHOWN = {
  open: 'Open',
  closed: 'Closed',
  merged: 'Merged',
  replaced: 'Replaced the original',
  rejected: 'Rejected',
  expired: 'Expired',
};

/** Lists the drafts for one tenant, or for all tenants, in the state given by the URL. */
export function DraftsSection({ tenant }: { tenant?: string }) {
  const given = route.value.query.get('state') ?? '';
  const state = (given in SHOWN ? given : 'open') as keyof typeof SHOWN & DraftsQuery['state'];
  const pages = usePages(
    'drafts',
    (after, signal) => listDrafts(tenant, { state, after }, signal),
    [tenant, state],
    'drafts',
  );
  return (
    <>
      <div class="page-head">
        {tenant === undefined ? <h1>Drafts</h1> : <h2>Drafts</h2>}
        <label>
          <span class="visually-hidden">State</span>
          <select
            value={state}
            onChange={({ currentTarget: { value } }) =>
              replaceQuery({ state: value === 'open' ? null : value })
            }
          >
            <Options texts={SHOWN} />
          </select>
        </label>
      </div>
      {pages.error !== undefined && <LoadError error={pages.error} onRetry={pages.reload} />}
      {pages.items === undefined && pages.isLoading && <Loading what="drafts" />}
      {pages.items?.length === 0 && <NoDrafts isOpen={state === 'open'} />}
      {pages.items !== undefined && pages.items.length > 0 && (
        <DraftsTable drafts={pages.items} hasTenants={tenant === undefined} isOpen={state === 'open'} />
      )}
      <MoreButton pages={pages}>Show older drafts</MoreButton>
    </>
  );
}

function NoDrafts({ isOpen }: { isOpen: boolean }) {
  if (!isOpen) return <Empty title="No such drafts" />;
  return (
    <Empty title="No draft waits for a review">
      <p>A draft is a working copy of a memory. Its changes are merged only after you approve them.</p>
    </Empty>
  );
}

interface TableProps {
  drafts: Draft[];
  /** Whether the table has a column for the tenant. */
  hasTenants: boolean;
  isOpen: boolean;
}

function DraftsTable({ drafts, hasTenants, isOpen }: TableProps) {
  return (
    <Table
      class={hasTenants ? 'drafts with-tenants' : 'drafts'}
      minWidth={960}
      columns={[
        'Draft',
        ...(hasTenants ? ['Tenant'] : []),
        'Base',
        ...(isOpen ? ['Changes', 'Comments', 'Review by', 'Last used'] : ['Became', 'Closed']),
      ]}
    >
      {drafts.map((draft) => (
        <tr key={draft.id}>
          <th scope="row">
            <div class="tenant-name">
              <a class="name-link" href={toHref(['tenants', draft.tenant, 'drafts', draft.id])}>
                <Name text={draft.title} />
              </a>
              <span class="muted small">
                by <Author {...draft} />
              </span>
            </div>
          </th>
          {hasTenants && (
            <td class="key-tenant" data-title="Tenant">
              <a class="name-link" href={toHref(['tenants', draft.tenant])}>
                <Name text={draft.tenant} />
              </a>
            </td>
          )}
          <td class="muted" data-title="Base">
            <Time value={draft.base_at} isAge />
          </td>
          {isOpen ? <OpenCells {...draft} /> : <ClosedCells {...draft} />}
        </tr>
      ))}
    </Table>
  );
}

/** The actor that proposed a draft, with the tenant whose mount it used, and the source declared for its key. */
export function Author({ author, via_tenant: via }: Pick<Draft, 'author' | 'via_tenant'>) {
  const source = actorSource(author);
  const name = actorTextVia(author, via);
  return <Name text={source === null ? name : `${name}, source ${source}`} />;
}

function OpenCells(draft: Draft) {
  const {
    changed_files,
    changed_in_both,
    comments,
    open_comments,
    review_request,
    last_used_at,
    expires_at,
  } = draft;
  return (
    <>
      <td data-title="Changes">
        <div>
          {changed_files === null ? '' : formatNumber(changed_files)}
          {changed_in_both !== null && changed_in_both > 0 && (
            <span class="may-conflict" title="Files that the original has changed, too">
              , {formatNumber(changed_in_both)} may conflict
            </span>
          )}
        </div>
      </td>
      <td data-title="Comments">
        {comments > 0 &&
          `${formatNumber(open_comments)} open${open_comments < comments ? ` of ${comments}` : ''}`}
      </td>
      <td class="key-tenant" data-title="Review by">
        {review_request && <Name text={review_request.reviewer} />}
      </td>
      <td class="muted" data-title="Last used">
        <div>
          {last_used_at && <Time value={last_used_at} isAge />}
          {expires_at && (
            <span class="block expires small">
              expires <Time value={expires_at} isAge />
            </span>
          )}
        </div>
      </td>
    </>
  );
}

function ClosedCells({ state, closed_at, closed_by }: Draft) {
  return (
    <>
      <td data-title="Became">
        <StateBadge state={state} />
      </td>
      <td class="muted" data-title="Closed">
        {closed_at && <Time value={closed_at} isAge />}
        {closed_by && (
          <span class="words closed-by">
            by <ActorName actor={closed_by} />
          </span>
        )}
      </td>
    </>
  );
}

export function StateBadge({ state }: Pick<Draft, 'state'>) {
  const kind = state === 'merged' || state === 'replaced' ? 'good' : state === 'rejected' ? 'bad' : 'neutral';
  return <Badge kind={kind}>{STATES[state]}</Badge>;
}
