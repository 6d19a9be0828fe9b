import { sendJson } from './client.ts';
import type { AuditEvent } from './types.ts';

export interface AuditQuery {
  tenant: string;
  actor: string;
  action: string;
  outcome: string;
  since: string;
}

export const listAudit = (query: AuditQuery, after: string | null, signal: AbortSignal) =>
  sendJson<{ events: AuditEvent[]; next: string | null }>('audit', { query: { ...query, after }, signal });
