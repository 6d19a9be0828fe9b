import type { Created, OverQuota, Renamed, TenantDefaults } from '../memory/memory-store.ts';
import type { MemoryPath } from '../memory/path.ts';
import { declaredWriteFunctions, writeFunction } from './write-function.ts';

/*
 * The database functions that change memory, one per write command (migrations/functions). They enforce the tree's
 * rules, quotas, and idempotency, and return each call's outcome.
 */

export const writeFunctions = declaredWriteFunctions;

/** Actor and request for a change (`storedOrigin`). */
type OriginParams = { origin: string };

/** `change` is a new random ID, for a change that can affect many files. */
type ChangeParams = { change: string } & OriginParams;

const QUOTAS = { maxFiles: 'bigint', maxBytes: 'bigint' } as const;
const HISTORY = { historyDays: 'bigint', maxHistoryBytes: 'bigint' } as const;

export const createFunction = writeFunction<
  { path: MemoryPath; content: string; version: string; autoCreate: boolean } & OriginParams,
  Pick<TenantDefaults, keyof typeof QUOTAS>,
  Created
>(
  'memory_create',
  {
    call: { path: 'text', content: 'text', version: 'uuid', autoCreate: 'boolean', origin: 'jsonb' },
    service: QUOTAS,
  },
  { mixesTenants: true },
);

/** `conflict` means that the file no longer has the version that was read. */
export const writeFileFunction = writeFunction<
  {
    path: MemoryPath;
    readVersion: string;
    start: number;
    removed: number;
    text: string;
    version: string;
  } & OriginParams,
  Pick<TenantDefaults, 'maxBytes' | keyof typeof HISTORY>,
  { kind: 'written' | 'missing' | 'conflict' } | OverQuota
>(
  'memory_write',
  {
    call: {
      path: 'text',
      readVersion: 'uuid',
      start: 'integer',
      removed: 'integer',
      text: 'text',
      version: 'uuid',
      origin: 'jsonb',
    },
    service: { maxBytes: 'bigint', ...HISTORY },
  },
  { mixesTenants: true },
);

export const deleteFunction = writeFunction<
  { path: MemoryPath } & ChangeParams,
  Pick<TenantDefaults, keyof typeof HISTORY>,
  { kind: 'deleted' | 'missing' }
>(
  'memory_delete',
  { call: { path: 'text', change: 'uuid', origin: 'jsonb' }, service: HISTORY },
  { mixesTenants: false },
);

export const renameFunction = writeFunction<
  { from: MemoryPath; to: MemoryPath } & ChangeParams,
  { maxPathBytes: number; maxDepth: number } & Pick<TenantDefaults, 'maxFiles' | keyof typeof HISTORY>,
  Renamed
>(
  'memory_rename',
  {
    call: { from: 'text', to: 'text', change: 'uuid', origin: 'jsonb' },
    service: { maxPathBytes: 'integer', maxDepth: 'integer', maxFiles: 'bigint', ...HISTORY },
  },
  { mixesTenants: false },
);

/** Stores a failed write's result under its idempotency key. */
export const recordFailureFunction = writeFunction<
  Record<never, never>,
  Record<never, never>,
  { kind: 'recorded' }
>('memory_record_failure', { call: {}, service: {} }, { mixesTenants: true });

/**
 * A file in the Memory Stores API. `content` is null unless the request asked for the content. Times are in ISO 8601.
 */
export interface StoredMemory {
  memoryId: string;
  versionId: string;
  path: MemoryPath;
  sizeBytes: number;
  sha256: string;
  createdAt: string;
  updatedAt: string;
  content: string | null;
}

/** The file at, above, or below the requested path. */
export interface PathConflict {
  kind: 'conflict';
  path: MemoryPath;
  memoryId: string;
}

/** A union of outcomes without data. */
type Kind<Name extends string> = Name extends string ? { kind: Name } : never;

export const storeCreateFunction = writeFunction<
  { path: MemoryPath; content: string; version: string } & OriginParams & { withContent: boolean },
  TenantDefaults,
  ({ kind: 'created' } & StoredMemory) | PathConflict | OverQuota
>(
  'memory_store_create',
  {
    call: { path: 'text', content: 'text', version: 'uuid', origin: 'jsonb', withContent: 'boolean' },
    service: { ...QUOTAS, ...HISTORY },
  },
  { mixesTenants: true, storesResult: false },
);

/** Null keeps the path or the content. A null `expected` accepts any content. */
export const storeUpdateFunction = writeFunction<
  {
    memory: string;
    path: MemoryPath | null;
    content: string | null;
    expected: string | null;
    maxFileBytes: number;
  } & ChangeParams & { withContent: boolean },
  TenantDefaults,
  | (Kind<'updated' | 'unchanged'> & StoredMemory)
  | Kind<'missing' | 'precondition_failed' | 'too_large'>
  | PathConflict
  | OverQuota
>(
  'memory_store_update',
  {
    call: {
      memory: 'uuid',
      path: 'text',
      content: 'text',
      expected: 'text',
      maxFileBytes: 'bigint',
      change: 'uuid',
      origin: 'jsonb',
      withContent: 'boolean',
    },
    service: { ...QUOTAS, ...HISTORY },
  },
  { mixesTenants: false, storesResult: false },
);

export const storeDeleteFunction = writeFunction<
  { memory: string; expected: string | null } & ChangeParams,
  Pick<TenantDefaults, keyof typeof HISTORY>,
  Kind<'deleted' | 'missing' | 'precondition_failed'>
>(
  'memory_store_delete',
  { call: { memory: 'uuid', expected: 'text', change: 'uuid', origin: 'jsonb' }, service: HISTORY },
  { mixesTenants: false, storesResult: false },
);
