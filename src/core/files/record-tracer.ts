import type { MemoryStore } from '../memory/memory-store.ts';
import type { MemoryPath } from '../memory/path.ts';

/** A memory that knows the IDs of its files. */
export interface RecordedMemory extends MemoryStore {
  readonly tenant: string;
  /** Whether the memory is mounted by the caller's tenant. */
  readonly isMounted: boolean;
  /** Returns the ID of a file; undefined for a directory, and for an unused path. */
  recordId(path: MemoryPath): Promise<string | undefined>;
}

/** Adds the file of an operation to its trace. Undefined while tracing is off. */
export interface RecordTracer {
  /** Returns the memory, which adds the file of each operation to the trace if the current operation is sampled. */
  traceMemory(memory: RecordedMemory): MemoryStore;
}
