import { actorText } from '../../../../src/core/memory/origin.ts';
import type { AuditEvent } from '../../api/api-types.ts';
import { type AuditQuery, listAudit } from '../../api/audit-api.ts';
import { actorFilter } from '../../text/actor.ts';
import { BYTE_ORDER_MARK, csvRow } from '../../text/csv.ts';
import { actionText } from './actions.ts';

/** Maximum number of rows. A spreadsheet opens a larger file slowly. */
const MAX_ROWS = 50_000;

const HEADER = [
  'time',
  'actor',
  'actor_id',
  'action',
  'operation',
  'dry_run',
  'outcome',
  'tenant',
  'key',
  'channel',
  'address',
  'request_id',
  'details',
];

export function eventRow(event: AuditEvent): string {
  const { at, actor, action, dry_run, outcome, tenant, key, channel, address, request_id, details } = event;
  return csvRow([
    at,
    actorText(actor),
    actorFilter(actor) ?? '',
    actionText(action),
    action,
    String(dry_run),
    outcome ?? '',
    tenant ?? '',
    key ?? '',
    channel,
    address,
    request_id ?? '',
    Object.keys(details).length === 0 ? '' : JSON.stringify(details),
  ]);
}

/**
 * Reads all events that match a filter as a CSV file, newest first.
 *
 * @param onProgress receives the number of rows so far
 * @returns the file, and whether older events were left out
 */
export async function exportAudit(
  query: AuditQuery,
  onProgress: (rows: number) => void,
  signal: AbortSignal,
  { load = listAudit, maxRows = MAX_ROWS } = {},
): Promise<{ file: Blob; rows: number; isCut: boolean }> {
  const parts = [BYTE_ORDER_MARK, csvRow(HEADER)];
  let rows = 0;
  for (let after: string | null = null; ; ) {
    const page = await load(query, after, signal);
    const events = page.events.slice(0, maxRows - rows);
    parts.push(events.map(eventRow).join(''));
    rows += events.length;
    onProgress(rows);
    after = page.next;
    const isCut = rows >= maxRows && (after !== null || events.length < page.events.length);
    if (after === null || isCut)
      return { file: new Blob(parts, { type: 'text/csv; charset=utf-8' }), rows, isCut };
  }
}
