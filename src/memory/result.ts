/** The result of a memory command: the text that the model reads, and whether it reports a failure. */
export interface MemoryResult {
  content: string;
  isError: boolean;
}

export const success = (content: string): MemoryResult => ({ content, isError: false });
export const failure = (content: string): MemoryResult => ({ content, isError: true });
