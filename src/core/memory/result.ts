/** Memory command result: the text for the model, and whether the command failed. */
export interface MemoryResult {
  content: string;
  isError: boolean;
  /**
   * Whether the command was rejected because the memory is full or not writable. The tenant's usage counts such
   * commands.
   */
  isRejection?: true;
}

export const success = (content: string): MemoryResult => ({ content, isError: false });
export const failure = (content: string): MemoryResult => ({ content, isError: true });
export const rejection = (content: string): MemoryResult => ({ content, isError: true, isRejection: true });
