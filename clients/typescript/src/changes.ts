import { backoffMs, sleep } from './backoff.ts';
import type { Fault } from './errors.ts';
import type { ServerEvent } from './event-stream.ts';
import { parseJson } from './response.ts';

/** Changes to files. */
export type FileChangeType = 'created' | 'modified' | 'renamed' | 'deleted' | 'restored' | 'redacted';

/** Events of the tenant. An agent never receives `tenant_deleted`, because its requests are rejected then. */
export type TenantEventType = `tenant_${'created' | 'suspended' | 'resumed' | 'renamed' | 'deleted'}`;

export type DraftEventType = `draft_${'opened' | 'merged' | 'rejected'}`;

export type ShareEventType = `share_${'created' | 'ended'}`;

/** A later version of the service may add types. */
export type ChangeType = FileChangeType | TenantEventType | 'limit_near' | DraftEventType | ShareEventType;

/** Selects changes. Undefined fields match all changes. */
export interface ChangeFilter {
  /** A file or a directory: only changes to files at or below the path, such as `/memories/prefs`. */
  path?: string | undefined;
  types?: readonly ChangeType[] | undefined;
  /** An actor: the ID or label of a key, the subject of a token, or `anonymous`. */
  by?: string | undefined;
  /** The source of keys, as declared by their operators. Not together with `by`. */
  source?: string | undefined;
  /** Whether the events have the contents; false by default. */
  content?: boolean | undefined;
}

export interface ListChangesOptions extends ChangeFilter {
  /** The `cursor` of an event or a page, or `now`. Without it, the list begins with the history. */
  after?: string | undefined;
  /** Maximum number of events: 1 to 1000, 100 by default. */
  limit?: number | undefined;
  /** Aborts the call with a `MemoryServiceError` of code `aborted`. */
  signal?: AbortSignal | null | undefined;
}

export interface ChangesOptions extends ChangeFilter {
  /** The `cursor` of an event or a page, or `now`. Without it, the changes begin with the history. */
  after?: string | undefined;
  /** Ends the iteration without an error. */
  signal?: AbortSignal | null | undefined;
  /**
   * Called when the position is older than the history, or another tenant has the ID. It must read all files once. Then
   * the changes after `cursor` follow. Without it, the iteration throws a `MemoryServiceError` with status 410.
   */
  resync?: ((cursor: string) => Promise<void>) | undefined;
}

/** The actor that made a change, such as `{ type: 'api_key', id, label }`. A later version may add types. */
export type Actor = { type: string } & Record<string, string | null>;

/** A change to one file. A later version of the service may add fields. */
export interface Version {
  id: string;
  /** Identifies the file across edits and renames. */
  memory_id: string;
  operation: string;
  /** Path after the change, or the last path of a deleted file. Null once redacted. */
  path: string | null;
  previous_path: string | null;
  /** The version that it replaced; null if there was none or it has been pruned. */
  previous_version: string | null;
  content_sha256: string | null;
  content_size_bytes: number | null;
  /** ISO 8601. */
  created_at: string;
  actor: Actor;
  request_id: string | null;
  tool_use_id: string | null;
  /** The tenant that mounts this memory, if the change came through its mount. */
  via_tenant: string | null;
  source: string | null;
  /** The draft from which the version was merged. */
  draft: string | null;
  approved_by: Actor | null;
  redacted_at: string | null;
  redacted_by: Actor | null;
}

interface BaseEvent {
  /** Position after the event. Save it when you have handled the event, and continue with `after`. */
  cursor: string;
  tenant: string;
  /** ISO 8601. */
  at: string;
  actor: Actor;
}

/** A change to a file, or a redaction. A later version of the service may add fields. */
export interface FileEvent extends BaseEvent {
  type: FileChangeType;
  /** The version that the change created, or the redacted version. */
  version: Version;
  /** With `content`: the content after the change. Null for a deletion, or once redacted or pruned. */
  content?: string | null;
}

export interface TenantEvent extends BaseEvent {
  type: TenantEventType;
  /** For `tenant_renamed`: the tenant's ID before the rename. */
  previous_tenant?: string;
}

/** The tenant's files or bytes reached 90 % of their limit. */
export interface LimitEvent extends BaseEvent {
  type: 'limit_near';
  limit: 'files' | 'bytes';
  used_percent: number;
}

export interface DraftEvent extends BaseEvent {
  type: DraftEventType;
  /** `state` is `open`, `merged`, `replaced`, `rejected`, or `expired`. */
  draft: { id: string; state: string };
}

/** The tenant accepted an invitation, or such a share ended. */
export interface ShareEvent extends BaseEvent {
  type: ShareEventType;
  /** `access` is `read_only`, `propose`, or `read_write`. */
  share: { id: string; access: string };
}

/** A change to a file, or an event of the tenant, a limit, a draft, or a share. */
export type ChangeEvent = FileEvent | TenantEvent | LimitEvent | DraftEvent | ShareEvent;

export interface ChangePage {
  events: ChangeEvent[];
  /** Position after the page. */
  cursor: string;
  /** Whether there are more events already. */
  has_more: boolean;
}

/** Returns the URL of changes. */
export function changesUrl(
  base: URL,
  { after, limit, path, types, by, source, content }: ListChangesOptions,
) {
  const url = new URL(base);
  const values = { after, limit, path, by, source, content };
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) url.searchParams.set(name, String(value));
  for (const type of types ?? []) url.searchParams.append('type', type);
  return url;
}

export function readChangePage(body: Record<string, unknown>): ChangePage | undefined {
  const { events, cursor, has_more } = body;
  const isPage = Array.isArray(events) && typeof cursor === 'string' && typeof has_more === 'boolean';
  return isPage ? (body as unknown as ChangePage) : undefined;
}

/** The requests of a client that reads changes. */
export interface ChangeSource {
  /** Opens a stream of the changes after a position. */
  open(after: string | undefined): AsyncGenerator<ServerEvent, Fault>;
  /** Returns the position after the latest change. */
  findEnd(): Promise<{ result: string } | { fault: Fault }>;
  /** Records a received event. */
  noteSuccess(): void;
  /** Records a fault before a further request. */
  noteRetry(fault: Fault, failures: number, delayMs: number): void;
  /** Returns the error to throw. */
  toError(fault: Fault, failures: number): Error;
}

/**
 * Yields changes, each once, and opens another stream when one ends.
 *
 * @throws the source's error, after a fault that another request would not mend
 */
export async function* followChanges(
  source: ChangeSource,
  { after, resync, signal }: Pick<ChangesOptions, 'after' | 'resync' | 'signal'>,
): AsyncGenerator<ChangeEvent, void, undefined> {
  let position = after;
  let isExpired = false;
  for (let failures = 0; !signal?.aborted; ) {
    let fault: Fault;
    if (position === 'now') {
      // A stream after `now` would lose the changes before its first event if it broke.
      const end = await source.findEnd();
      if ('result' in end) {
        if (isExpired) await resync?.(end.result);
        isExpired = false;
        position = end.result;
        continue;
      }
      fault = end.fault;
    } else {
      const events = source.open(position);
      let next = await events.next();
      try {
        for (; !next.done; next = await events.next()) {
          const { type, data, id } = next.value;
          failures = 0;
          source.noteSuccess();
          position = id ?? position;
          if (type === 'message' && data !== '') yield parseJson(data) as unknown as ChangeEvent;
        }
      } finally {
        // Closes the connection when the caller leaves the loop.
        await events.return(undefined as never);
      }
      fault = next.value;
    }
    if (signal?.aborted) return;
    if (fault.status === 410 && resync !== undefined) {
      isExpired = true;
      position = 'now';
      continue;
    }
    failures++;
    if (!isTemporary(fault)) throw source.toError(fault, failures);
    const delayMs = backoffMs(failures, fault.retryAfterMs);
    source.noteRetry(fault, failures, delayMs);
    await sleep(delayMs, signal ?? undefined);
  }
}

/** Whether another request can succeed: also after `access_changed`, with which a stream ends when its key changes. */
function isTemporary({ retryable, status = 0, code }: Fault): boolean {
  return retryable || status >= 500 || code === 'access_changed';
}
