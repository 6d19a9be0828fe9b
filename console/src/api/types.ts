// The answers of the admin API, as admin-openapi.yaml describes them. Times are ISO 8601, UTC.

import type { Actor } from '../../../src/memory/origin.ts';
import type { SettingName, SettingValue } from '../../../src/tenants/settings.ts';
import type { SnakeCase } from '../../../src/util/snake-case.ts';

export interface SessionInfo {
  actor: Actor;
  read_only: boolean;
  version: string;
}

/** Null means the default of the service. */
export type Settings = { [Name in SettingName as SnakeCase<Name>]: SettingValue<Name> | null };

export interface Tenant {
  id: string;
  status: 'active' | 'suspended';
  created_at: string;
  suspended_at: string | null;
  last_change_at: string | null;
  files: number;
  bytes: number;
  history_versions: number;
  history_bytes: number;
  used_percent: number | null;
  settings: Settings;
  effective: Settings;
}

export interface Usage {
  stored_answers: number;
  last_activity_at: string | null;
}

export type KeyKind = 'tenant' | 'service' | 'admin';
export type Access = 'read_write' | 'read_only';

export interface Key {
  id: string;
  kind: KeyKind;
  tenant: string | null;
  access: Access;
  label: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}

export interface Entry {
  path: string;
  kind: 'file' | 'directory';
  size_bytes: number | null;
  modified_at: string;
}

export interface TreePage {
  entries: Entry[];
  next: string | null;
  /** With a time: files that are not shown because they were redacted. */
  redacted: number | null;
}

export interface SearchMatch {
  path: string;
  in: 'path' | 'content';
  line: number | null;
  excerpt: string | null;
}

export interface Version {
  id: string;
  memory_id: string;
  operation: 'created' | 'modified' | 'renamed' | 'deleted';
  path: string | null;
  content_size_bytes: number | null;
  created_at: string;
  actor: Actor;
  request_id: string | null;
  tool_use_id: string | null;
  redacted_at: string | null;
  redacted_by: Actor | null;
  previous_version: string | null;
  previous_path: string | null;
}

export interface FileDiff {
  old_path: string | null;
  path: string | null;
  old_version: string | null;
  version: string | null;
  /** As git writes it. */
  patch: string | null;
  no_patch_reason: string | null;
}

export interface Activity {
  since: string;
  until: string;
  bucket_seconds: number;
  actors: Actor[];
  buckets: { start: string; counts: number[]; others: number }[];
}

export interface FileChange {
  change: 'added' | 'modified' | 'deleted' | 'renamed';
  path: string;
  from: string | null;
  content_changed: boolean;
}

export interface Conflict {
  path: string | null;
  message: string;
}

export interface Changes {
  dry_run: boolean;
  files: FileChange[];
  directories_made: string[];
  directories_removed: string[];
  summary: string;
  conflicts?: Conflict[];
}

export interface ImportResult {
  files: number;
  bytes: number;
  directories: string[];
  masked: { name: string; kinds: string[] }[];
}
