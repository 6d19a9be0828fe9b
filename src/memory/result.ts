/** The result of a memory command: the text that the model reads, and whether it reports a failure. */
export interface MemoryResult {
  content: string;
  isError: boolean;
  /** Refused because the memory is full or may not be written: the usage of the tenant counts it. */
  isRefusal?: true;
}

export const success = (content: string): MemoryResult => ({ content, isError: false });
export const failure = (content: string): MemoryResult => ({ content, isError: true });
export const refusal = (content: string): MemoryResult => ({ content, isError: true, isRefusal: true });
