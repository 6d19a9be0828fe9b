import type { MemoryPath } from './path.ts';
import type { MemoryResult } from './result.ts';
import type { Change } from './text.ts';

/** One entry of a directory listing. `bytes` is the UTF-8 size of a file's content; 0 for a directory. */
export interface ListedEntry {
  path: MemoryPath;
  kind: 'file' | 'dir';
  bytes: number;
}

/** At most as many entries as were asked for; `total` counts all of them. */
export interface Listing {
  entries: ListedEntry[];
  total: number;
}

/** The entry at a path. A listing holds at most the requested number of `entries`; `total` counts all of them. */
export type LookupResult =
  | { kind: 'file'; content: string }
  /** `notes`: lines that a view adds. */
  | ({ kind: 'dir'; notes?: readonly string[] } & Listing)
  | { kind: 'missing' };

/** What one tenant may use unless it has limits of its own; 0 means no limit. */
export type Quotas = { maxFiles: number; maxBytes: number };

/**
 * What holds for a tenant that has no setting of its own; 0 means no limit, but `historyDays` 0 keeps no superseded
 * versions.
 */
export type TenantDefaults = Quotas & { historyDays: number; maxHistoryBytes: number };

/** A quota would be exceeded: `used` of `limit` are taken, and the write needs `needed` more. */
export interface OverQuota {
  kind: 'over_quota';
  of: 'files' | 'directories' | 'bytes';
  used: number;
  limit: number;
  needed: number;
}

export type Created =
  | { kind: 'created' }
  | { kind: 'exists' }
  | { kind: 'not_a_directory'; path: MemoryPath }
  | OverQuota;

/** Why the policy on sizes and secrets refuses a write. */
export type PolicyRefusal =
  | { kind: 'file_too_large'; path: MemoryPath; maxBytes: number }
  | { kind: 'secrets_in_content' | 'secret_in_path'; kinds: readonly string[] };

/** Why a write is refused. `messages.ts` words it for the model, the error catalog for people. */
export type Refusal =
  | PolicyRefusal
  | { kind: 'exists'; path: MemoryPath }
  | { kind: 'not_a_directory'; path: MemoryPath }
  | OverQuota;

/** The outcome of a change function: the content to write with the result of that, or what refuses the edit. */
export type Edit<R> = (Change & { result: MemoryResult }) | { refusal: R };

export type Edited<R> =
  /** `before` and `content`: those of the file before and after the edit. */
  | { kind: 'edited'; result: MemoryResult; before: string; content: string }
  | { kind: 'refused'; refusal: R }
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
 * One tenant's memory, for one call of the tool: a tree of files under `/memories`, which always exists.
 *
 * Each method is atomic and linearizable. A method that does not succeed changes nothing. Expected outcomes are
 * values. A write takes the `result` of its success, which is stored with the change when the request has an
 * idempotency key; a repeated write throws `IdempotentReplay`. Faults (database unavailable, overloaded) are thrown
 * as `ServiceError`.
 */
export interface MemoryStore {
  /**
   * A file with its content, or a directory with what lies up to two levels below it, hidden names and
   * `node_modules` left out, depth first, names in code point order; at most `maxEntries` of them.
   */
  lookup(path: MemoryPath, maxEntries: number): Promise<LookupResult>;

  /** What is directly in the root, in the order and without the names of `lookup`: at most `maxEntries`. */
  rootEntries(maxEntries: number): Promise<Listing>;

  /** Creates a file and the missing directories above it. */
  create(path: MemoryPath, content: string, result: MemoryResult): Promise<Created>;

  /**
   * Applies `change` to a file's content so that no other edit is lost. `change` must be pure: it is called again
   * with newer content when another edit came first. A directory counts as missing.
   */
  edit<R>(path: MemoryPath, change: (content: string) => Edit<R> | Promise<Edit<R>>): Promise<Edited<R>>;

  /** Deletes a file, or a directory and everything below it. Not for the root. */
  delete(path: MemoryPath, result: MemoryResult): Promise<Deleted>;

  /** Deletes a file unless its content is another than expected. A directory counts as missing. */
  deleteIf(
    path: MemoryPath,
    isExpected: (content: string) => boolean,
    result: MemoryResult,
  ): Promise<Deleted | { kind: 'changed' }>;

  /** Moves a file, or a directory and everything below it, and creates the missing directories above `to`. */
  rename(from: MemoryPath, to: MemoryPath, result: MemoryResult): Promise<Renamed>;

  /**
   * Takes the idempotency key for a write that goes to another memory, with the result for the case that it is never
   * known what came of it.
   *
   * @throws IdempotentReplay when the key has an result already, which may be this one
   */
  reserveKey(result: MemoryResult): Promise<void>;

  /**
   * Stores the result of a write that failed, where the store works under an idempotency key.
   *
   * @throws IdempotentReplay when the key has a stored result already
   */
  recordFailure(result: MemoryResult): Promise<void>;
}

/**
 * Thrown by a write whose idempotency key already has a stored result, `result`. It is not an outcome like the others
 * because no command handles it.
 */
export class IdempotentReplay extends Error {
  readonly result: MemoryResult;

  constructor(result: MemoryResult) {
    super('This write has a stored result.');
    this.name = 'IdempotentReplay';
    this.result = result;
  }
}

/** A write's idempotency key and its input, both as hashes. */
export interface RequestKey {
  keyHash: string;
  requestHash: string;
}
