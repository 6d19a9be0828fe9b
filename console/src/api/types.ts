// The answers of the admin API, by the names that the console gives them. Those of admin-openapi.yaml are in schema.ts.

import type { Difference, Imported, Key, OwnSettings, Restored, Reverted, Session } from './schema.ts';

export type {
  Activity,
  Entry,
  FileChange,
  Key,
  SearchMatch,
  Tenant,
  TreePage,
  Usage,
  Version,
} from './schema.ts';
export type SessionInfo = Session;
export type Settings = OwnSettings;
export type KeyKind = Key['kind'];
export type Access = Key['access'];
export type FileDiff = Difference;
export type ImportResult = Imported;
/** What a restore or a revert changes; only a revert has conflicts. */
export type Changes = Restored & Partial<Pick<Reverted, 'conflicts'>>;
