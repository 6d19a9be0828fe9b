// The console's names for the admin API's responses. The schemas from `admin-openapi.yaml` are in `schema.ts`.

import type {
  ActiveTenant,
  Caller,
  CommandLatency,
  Difference,
  DirectorySizes,
  FleetDay,
  FleetTotals,
  Imported,
  Mount,
  Mounts,
  OwnSettings,
  RejectedCalls,
  Replica,
  Restored,
  Reverted,
  RevertResolutionInput,
  RightInput,
  Session,
  Key as StoredKey,
  KeyWithPrevious as StoredKeyWithPrevious,
  Tenant as StoredTenant,
} from './schema.ts';

export type {
  Activity,
  AuditEvent,
  Conflict,
  DirectoryPage,
  Entry,
  FileChange,
  FleetDay,
  Mount,
  Mounts,
  SearchMatch,
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
/** Access to a file, or to a directory with everything below it. */
export type Right = RightInput;
/** A key without its secret, with typed paths. */
export type Key = Omit<StoredKey, 'rights'> & { rights: Right[] };
export type KeyWithPrevious = Key & Pick<StoredKeyWithPrevious, 'previous'>;
export type SessionInfo = Session;
export type Settings = OwnSettings;
export type KeyKind = Key['kind'];
export type Access = Key['access'];
export type FileDiff = Difference;
/** One batch of file counts. The directory's size is the sum over all batches. */
export type SizesPart = DirectorySizes;
export type ImportResult = Imported;
/** Changes by a restore or a revert. Only a revert can have conflicts. */
export type Changes = Restored & Partial<Pick<Reverted, 'conflicts'>>;
export type RevertResolution = RevertResolutionInput;
