import { sendJson } from './api-client.ts';
import type { AuditEvent } from './api-types.ts';

/** Audit trail filter. Empty texts do not filter. */
export interface AuditQuery {
  tenant: string;
  tenant_contains: string;
  by_contains: string;
  /** Operations. */
  action: string[];
  outcome: string;
  since: string;
}

/** The service's maximum number of events per page. */
const PAGE = 200;

export const listAudit = (query: AuditQuery, after: string | null, signal: AbortSignal) =>
  sendJson<{ events: AuditEvent[]; next: string | null }>('audit', {
    query: { ...query, after, limit: PAGE },
    signal,
  });
