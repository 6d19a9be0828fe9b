import type { MemoryPath } from './path.ts';
import type { MemoryResult } from './result.ts';
import type { Change } from './text-changes.ts';

/** An entry in a directory listing. `bytes` is the size of a file's content in UTF-8; 0 for a directory. */
export interface ListedEntry {
  path: MemoryPath;
  kind: 'file' | 'dir';
  bytes: number;
}

/** At most the requested number of entries. `total` counts all entries. */
export interface Listing {
  entries: ListedEntry[];
  total: number;
}

/** The entry at a path, with a listing for a directory. */
export type LookupResult =
  | { kind: 'file'; content: string }
  /** `notes` are lines that a view adds. */
  | ({ kind: 'dir'; notes?: readonly string[] } & Listing)
  | { kind: 'missing' };

/** Quotas for a tenant without its own limits; 0 means no limit. */
export type Quotas = { maxFiles: number; maxBytes: number };

/**
 * Defaults for tenants without their own settings. 0 means no limit, except that `historyDays` 0 keeps no superseded
 * versions.
 */
export type TenantDefaults = Quotas & { historyDays: number; maxHistoryBytes: number };

/** Exceeded quota: `used` of `limit` are in use, and the write needs `needed` more. */
export interface OverQuota {
  kind: 'over_quota';
  of: 'files' | 'directories' | 'bytes';
  used: number;
  limit: number;
  needed: number;
  /** Whether `used` counts files that the caller must not know about. */
  hidesUsed?: boolean;
}

export type Created =
  | { kind: 'created' }
  | { kind: 'exists' }
  | { kind: 'not_a_directory'; path: MemoryPath }
  | OverQuota;

/** Reason why a write is rejected for its size or its secrets. */
export type PolicyRejection =
  | { kind: 'file_too_large'; path: MemoryPath; maxBytes: number }
  | { kind: 'secrets_in_content' | 'secret_in_path'; kinds: readonly string[] };

/**
 * Reason why a write is rejected. `messages.ts` has the messages for the model, and the error catalog those for people.
 */
export type Rejection =
  | PolicyRejection
  | { kind: 'exists'; path: MemoryPath }
  | { kind: 'not_a_directory'; path: MemoryPath }
  | OverQuota;

/** Outcome of a change function: the new content with the result for its success, or the reason for a rejection. */
export type Edit<R> = (Change & { result: MemoryResult }) | { rejection: R };

export type Edited<R> =
  /** `before` and `content` are the contents before and after the edit. */
  | { kind: 'edited'; result: MemoryResult; before: string; content: string }
  | { kind: 'rejected'; rejection: R }
  | { kind: 'missing' }
  | OverQuota;

export type Deleted = { kind: 'deleted' | 'missing' };

export type Renamed =
  | { kind: 'renamed' }
  | { kind: 'destination_exists' }
  | { kind: 'source_missing' }
  | { kind: 'inside_itself' }
  | { kind: 'not_a_directory'; path: MemoryPath }
  | { kind: 'too_long'; path: string }
  | OverQuota;

/**
 * One tenant's memory, for one call to the tool: a tree of files under `/memories`, which always exists.
 *
 * Each method is atomic and linearizable, and changes the memory only if it succeeds. Expected outcomes are return
 * values. A write takes the `result` for its success, which is stored with the change if the request has an idempotency
 * key. A repeated write throws `IdempotentReplay`. An unavailable or overloaded database throws a `ServiceError`.
 */
export interface MemoryStore {
  /**
   * Returns a file with its content, or a directory with its entries up to two levels deep. Hidden names and
   * `node_modules` are omitted. Entries are in depth-first order, with names in code point order; at most `maxEntries`
   * are returned.
   */
  lookup(path: MemoryPath, maxEntries: number): Promise<LookupResult>;

  /**
   * Returns at most `maxEntries` direct entries in the root, in the same order and with the same omissions as `lookup`.
   */
  rootEntries(maxEntries: number): Promise<Listing>;

  /** Creates a file and the missing directories above it. */
  create(path: MemoryPath, content: string, result: MemoryResult): Promise<Created>;

  /**
   * Applies `change` to a file's content without losing a concurrent edit. `change` must be pure, because it is called
   * again with the newer content if another edit came first. A directory counts as missing.
   */
  edit<R>(path: MemoryPath, change: (content: string) => Edit<R> | Promise<Edit<R>>): Promise<Edited<R>>;

  /** Deletes a file, or a directory and everything below it. The path must not be the root. */
  delete(path: MemoryPath, result: MemoryResult): Promise<Deleted>;

  /** Deletes a file if its content is as expected. A directory counts as missing. */
  deleteIf(
    path: MemoryPath,
    isExpected: (content: string) => boolean,
    result: MemoryResult,
  ): Promise<Deleted | { kind: 'changed' }>;

  /** Moves a file, or a directory and everything below it, and creates the missing directories above `to`. */
  rename(from: MemoryPath, to: MemoryPath, result: MemoryResult): Promise<Renamed>;

  /**
   * Reserves the idempotency key for a write to another memory. `result` is returned to a retry if the write's outcome
   * remains unknown.
   *
   * @throws IdempotentReplay when the key already has a result, which may be the reserved one
   */
  reserveKey(result: MemoryResult): Promise<void>;

  /**
   * Stores a failed write's result, if the request has an idempotency key.
   *
   * @throws IdempotentReplay when the key already has a stored result
   */
  recordFailure(result: MemoryResult): Promise<void>;
}

/**
 * Thrown by a write whose idempotency key already has a stored result, `result`. It is an exception instead of an
 * outcome because no command handles it.
 */
export class IdempotentReplay extends Error {
  readonly result: MemoryResult;

  constructor(result: MemoryResult) {
    super('This write has a stored result.');
    this.name = 'IdempotentReplay';
    this.result = result;
  }
}

/** Hashes of a write's idempotency key and of its input. */
export interface RequestKey {
  keyHash: string;
  requestHash: string;
}
