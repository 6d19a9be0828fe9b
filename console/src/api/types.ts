// The responses of the admin API, by the names that the console gives them. Those of admin-openapi.yaml are in
// schema.ts.

import type {
  ActiveTenant,
  Difference,
  DirectorySizes,
  FleetDay,
  FleetTotals,
  Imported,
  Key,
  OwnSettings,
  Restored,
  Reverted,
  Session,
} from './schema.ts';

export type {
  Activity,
  AuditEvent,
  DirectoryPage,
  Entry,
  FileChange,
  FleetDay,
  Key,
  KeyWithPrevious,
  Mount,
  Mounts,
  SearchMatch,
  Tenant,
  Usage,
  UsageDay,
  Version,
} from './schema.ts';
/** All tenants together. */
export interface FleetUsage {
  total: FleetTotals;
  days: FleetDay[];
  most_active: ActiveTenant[];
}
export type SessionInfo = Session;
export type Settings = OwnSettings;
export type KeyKind = Key['kind'];
export type Access = Key['access'];
export type FileDiff = Difference;
/** Add the parts up. */
export type SizesPart = DirectorySizes;
export type ImportResult = Imported;
/** What a restore or a revert changes; only a revert has conflicts. */
export type Changes = Restored & Partial<Pick<Reverted, 'conflicts'>>;
