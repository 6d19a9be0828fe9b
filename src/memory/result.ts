/** What a memory command answers: the text the model reads, and whether it reports a failure. */
export interface MemoryResult {
  content: string;
  isError: boolean;
}

export const success = (content: string): MemoryResult => ({ content, isError: false });
export const failure = (content: string): MemoryResult => ({ content, isError: true });
