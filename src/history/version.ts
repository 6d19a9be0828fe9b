import { time } from '../database/query.ts';
import { type Actor, actorOf, type Origin, sourceOf } from '../memory/origin.ts';

/** `renamed`: only the path changed. */
export type Operation = 'created' | 'modified' | 'renamed' | 'deleted';

/** A version as the view `memory_versions` has it (migrations/functions/memory_history.sql). */
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

/** The SHA-256 of a version `v` of `memory_versions`, in hexadecimal; that of a head is made from its content. */
export const SHA256 = "encode(COALESCE(v.content_sha256, memory_sha256(v.live_content)), 'hex')";

/** Of a version `v` of `memory_versions`. */
export const COLUMNS = `
  v.id, v.memory_id AS "memoryId", v.operation, v.path, ${SHA256} AS "contentSha256", v.size_bytes AS "sizeBytes",
  ${time('v.created_at')} AS "createdAt", ${time('v.superseded_at')} AS "supersededAt", v.origin,
  ${time('v.redacted_at')} AS "redactedAt", v.redacted_by AS "redactedBy"`;

/** Bounds of all ids. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The least id of a version after a time. */
export const AFTER = (at: string) => `memory_first_id(${at}::text::timestamptz + interval '1 microsecond')`;

/** What the name of an actor of a source begins with, where an operator names actors. */
export const SOURCE = 'source:';

/**
 * Whether an origin is of the actor that an operator names (`by` of `VersionFilter`): who made the change or approved
 * it, the draft that it was merged from, or where it comes from.
 */
export const isBy = (origin: string, by: string) => `COALESCE(
    ${by}::text IN (
      ${origin} #>> '{actor,id}', ${origin} #>> '{actor,label}', ${origin} #>> '{actor,subject}',
      ${origin} #>> '{actor,name}', ${origin} #>> '{actor,job}', ${origin} #>> '{approvedBy,id}', ${origin} #>> '{approvedBy,label}',
      ${origin} #>> '{approvedBy,name}', ${origin} ->> 'draft', '${SOURCE}' || (${origin} #>> '{actor,source}')
    ), false)
    OR (${by}::text IN ('operator', 'anonymous') AND COALESCE(${origin} #>> '{actor,type}', 'anonymous') = ${by}::text)`;

export const COVERS = (from: string, to: string, at: string) =>
  `${from} <= ${at}::text::timestamptz AND (${to} IS NULL OR ${to} > ${at}::text::timestamptz)`;

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
  /** The tenant through whose mount the change came. */
  viaTenant: string | null;
  /** Of a version that was merged from a draft: `actor` proposed it. */
  draft: string | null;
  approvedBy: Actor | null;
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
    viaTenant: origin?.viaTenant ?? null,
    draft: origin?.draft ?? null,
    approvedBy: origin?.approvedBy ?? null,
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
    via_tenant: version.viaTenant,
    source: sourceOf(version.actor),
    draft: version.draft,
    approved_by: version.approvedBy,
    redacted_at: version.redactedAt,
    redacted_by: version.redactedBy,
  };
}

const FULL_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** A full ID, or at least its first four digits. */
const ID_OR_START =
  /^[0-9a-f]{4,8}$|^[0-9a-f]{8}(-[0-9a-f]{0,4}){1,3}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{0,12}$/i;

/** Whether a text can be the full ID of a version. */
export function isFullVersionId(text: string): boolean {
  return FULL_ID.test(text);
}

/** Whether a text can be the ID of a version, or the start of one. */
export function isVersionId(text: string): boolean {
  return ID_OR_START.test(text);
}
