// The console's names for the admin API's responses. The schemas from `admin-openapi.yaml` are in `schema.ts`.

import type {
  ActiveTenant,
  Caller,
  CommandLatency,
  FleetDay,
  FleetTotals,
  Key,
  Mount,
  Mounts,
  RejectedCalls,
  Replica,
  Restored,
  Reverted,
  Tenant as StoredTenant,
} from './schema.ts';

export type {
  Activity,
  AuditEvent,
  Conflict,
  Difference as FileDiff,
  DirectoryPage,
  DirectorySizes as SizesPart,
  Entry,
  FileChange,
  Imported as ImportResult,
  Key,
  KeyWithPrevious,
  Mount,
  Mounts,
  OwnSettings as Settings,
  RevertResolutionInput as RevertResolution,
  Right,
  SearchMatch,
  Session as SessionInfo,
  Usage,
  UsageDay,
  Version,
} from './schema.ts';
/** Total usage by all tenants. */
export interface FleetUsage {
  total: FleetTotals;
  days: FleetDay[];
  most_active: ActiveTenant[];
}
/** Calls by agents in the last hour. */
export interface FleetActivity {
  since: string;
  total: { reads: number; writes: number; rejected: number };
  callers: Caller[];
  rejections: RejectedCalls[];
  latency: Omit<CommandLatency, 'command'>;
  latencies: CommandLatency[];
  replicas: Replica[];
  database: { kind: 'postgres' | 'citus' | 'pglite'; version: string };
}
/** A mount, with its status where that was read. */
export type TenantMount = Mount & Partial<Pick<Mounts['mounts'][number], 'status'>>;
export type Tenant = Omit<StoredTenant, 'mounts'> & { mounts: TenantMount[] };
export type KeyKind = Key['kind'];
export type Access = Key['access'];
/** Changes by a restore or a revert. Only a revert can have conflicts. */
export type Changes = Restored & Partial<Pick<Reverted, 'conflicts'>>;
