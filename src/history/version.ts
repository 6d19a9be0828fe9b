import type { Actor } from '../memory/origin.ts';
import { actorOf } from '../store/origin.ts';
import type { Operation, VersionRow } from './queries.ts';

/** A version of a file; times in ISO 8601, UTC, to the microsecond. */
export interface Version {
  id: string;
  /** Of the file: the same across edits and renames. */
  memoryId: string;
  operation: Operation;
  /** After the change; of a deleted one the last. Null once redacted. */
  path: string | null;
  /** Null for a deleted or redacted one. */
  contentSha256: string | null;
  contentSizeBytes: number | null;
  /** The changes of one request, as a rename of a directory, share their time. */
  createdAt: string;
  /** Null for the head of a live file. */
  supersededAt: string | null;
  actor: Actor;
  requestId: string | null;
  toolUseId: string | null;
  redactedAt: string | null;
  redactedBy: Actor | null;
}

export function versionOf(row: VersionRow): Version {
  const { origin, sizeBytes, ...fields } = row;
  return {
    ...fields,
    contentSizeBytes: sizeBytes,
    actor: actorOf(origin),
    requestId: origin?.requestId ?? null,
    toolUseId: origin?.toolUseId ?? null,
  };
}

/** A version as programs get it: the fields and names of docs/history.md. */
export function versionRecord(version: Version) {
  return {
    id: version.id,
    memory_id: version.memoryId,
    operation: version.operation,
    path: version.path,
    content_sha256: version.contentSha256,
    content_size_bytes: version.contentSizeBytes,
    created_at: version.createdAt,
    actor: version.actor,
    request_id: version.requestId,
    tool_use_id: version.toolUseId,
    redacted_at: version.redactedAt,
    redacted_by: version.redactedBy,
  };
}
