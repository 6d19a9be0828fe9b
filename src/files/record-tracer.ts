/** Adds the file of an operation to its trace. Undefined while tracing is off. */
export interface RecordTracer {
  /** Whether the current operation is sampled. */
  isRecording(): boolean;
  /**
   * Adds the ID of a file to the current operation.
   *
   * @param store tenant of a mounted memory; undefined for the caller's tenant
   */
  note(record: string, store: string | undefined): void;
}
