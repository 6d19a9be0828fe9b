import type { MemoryStore } from '../memory/memory-store.ts';
import type { MemoryPath } from '../memory/path.ts';

/** A memory that knows its file IDs. */
export interface RecordedMemory extends MemoryStore {
  readonly tenant: string;
  /** Whether the memory is mounted by the caller's tenant. */
  readonly isMounted: boolean;
  /** Returns a file's ID; undefined for a directory, and for an unused path. */
  recordId(path: MemoryPath): Promise<string | undefined>;
}

/** Adds an operation's file to its trace. Undefined while tracing is off. */
export interface RecordTracer {
  /** Returns the memory, which adds each operation's file to the trace if the current operation is sampled. */
  traceMemory(memory: RecordedMemory): MemoryStore;
}
