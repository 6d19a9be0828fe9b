import { time } from '../database/query.ts';
import { type Actor, actorSource, type Origin, originActor } from '../memory/origin.ts';

/** `renamed`: only the path changed. */
export type Operation = 'created' | 'modified' | 'renamed' | 'deleted';

/** A row in the view `memory_versions` (migrations/functions/memory_history.sql). */
export interface VersionRow {
  id: string;
  memoryId: string;
  operation: Operation;
  path: string | null;
  contentSha256: string | null;
  sizeBytes: number | null;
  createdAt: string;
  supersededAt: string | null;
  origin: Origin | null;
  redactedAt: string | null;
  redactedBy: Origin['actor'] | null;
}

/**
 * SQL text: the hexadecimal SHA-256 for a version `v` in `memory_versions`. Computed from the content for current
 * versions, which store no hash.
 */
export const SHA256 = "encode(COALESCE(v.content_sha256, memory_sha256(v.live_content)), 'hex')";

/** Columns of `VersionRow`, from a version `v` in `memory_versions`. */
export const COLUMNS = `
  v.id, v.memory_id AS "memoryId", v.operation, v.path, ${SHA256} AS "contentSha256", v.size_bytes AS "sizeBytes",
  ${time('v.created_at')} AS "createdAt", ${time('v.superseded_at')} AS "supersededAt", v.origin,
  ${time('v.redacted_at')} AS "redactedAt", v.redacted_by AS "redactedBy"`;

/** SQL value: the lowest version ID after a time. */
export const AFTER = (at: string) => `memory_first_id(${at}::text::timestamptz + interval '1 microsecond')`;

/** Prefix before a source name in a filter by actor. */
export const SOURCE = 'source:';

/** A filter by an actor, or by all actors from a source. */
export interface ActorOrSource {
  by?: string | undefined;
  source?: string | undefined;
}

/** Returns the `by` for a `VersionFilter`; undefined for versions by all actors. */
export function byActorOrSource({ by, source }: ActorOrSource): string | undefined {
  return source === undefined ? by : `${SOURCE}${source}`;
}

/**
 * SQL condition: whether an origin matches the `by` in a `VersionFilter`. Compares the author, the approver, the draft,
 * and the source.
 */
export const isBy = (origin: string, by: string) => `COALESCE(
    ${by}::text IN (
      ${origin} #>> '{actor,id}', ${origin} #>> '{actor,label}', ${origin} #>> '{actor,subject}',
      ${origin} #>> '{actor,name}', ${origin} #>> '{actor,job}', ${origin} #>> '{approvedBy,id}', ${origin} #>> '{approvedBy,label}',
      ${origin} #>> '{approvedBy,name}', ${origin} ->> 'draft', '${SOURCE}' || (${origin} #>> '{actor,source}')
    ), false)
    OR (${by}::text IN ('operator', 'anonymous')
      AND COALESCE(${origin} #>> '{actor,type}', 'anonymous') = ${by}::text)`;

export const COVERS = (from: string, to: string, at: string) =>
  `${from} <= ${at}::text::timestamptz AND (${to} IS NULL OR ${to} > ${at}::text::timestamptz)`;

/** A file version. Times are ISO 8601 in UTC, to the microsecond. */
export interface Version {
  id: string;
  /** The file's ID, which is stable across edits and renames. */
  memoryId: string;
  operation: Operation;
  /** Path after the change, or a deleted file's last path. Null for redacted versions. */
  path: string | null;
  /** Hexadecimal. Null for deletions and redacted versions. */
  contentSha256: string | null;
  contentSizeBytes: number | null;
  /** Shared by all changes in one request, such as a directory rename. */
  createdAt: string;
  /** Null for an existing file's current version. */
  supersededAt: string | null;
  actor: Actor;
  requestId: string | null;
  toolUseId: string | null;
  /** The tenant whose mount was used for the change. */
  viaTenant: string | null;
  /** The merged draft's ID; `actor` is the author who made the change in the draft. */
  draft: string | null;
  approvedBy: Actor | null;
  redactedAt: string | null;
  redactedBy: Actor | null;
}

export function toVersion(row: VersionRow): Version {
  const { origin, sizeBytes, ...fields } = row;
  return {
    ...fields,
    contentSizeBytes: sizeBytes,
    actor: originActor(origin),
    requestId: origin?.requestId ?? null,
    toolUseId: origin?.toolUseId ?? null,
    viaTenant: origin?.viaTenant ?? null,
    draft: origin?.draft ?? null,
    approvedBy: origin?.approvedBy ?? null,
  };
}

/** Converts a version to its public representation: the fields and names in docs/history.md. */
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
    via_tenant: version.viaTenant,
    source: actorSource(version.actor),
    draft: version.draft,
    approved_by: version.approvedBy,
    redacted_at: version.redactedAt,
    redacted_by: version.redactedBy,
  };
}

/** A full ID, or a prefix of at least four digits. */
const ID_OR_START =
  /^[0-9a-f]{4,8}$|^[0-9a-f]{8}(-[0-9a-f]{0,4}){1,3}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{0,12}$/i;

/** Whether a text can be a version ID or its prefix. */
export function isVersionId(text: string): boolean {
  return ID_OR_START.test(text);
}
