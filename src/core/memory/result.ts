/** Memory command result: the text for the model, and whether the command failed. */
export interface MemoryResult {
  content: string;
  isError: boolean;
  /** Set if the command was rejected because the memory is full or not writable. The tenant's usage counts it. */
  rejectedFor?: RejectionReason;
}

/** Code for a rejected command, as an error would have it. */
export type RejectionReason = 'over_quota' | 'read_only' | 'tenant_archived' | 'outside_rights';

export const success = (content: string): MemoryResult => ({ content, isError: false });
export const failure = (content: string): MemoryResult => ({ content, isError: true });
export const rejection = (content: string, rejectedFor: RejectionReason): MemoryResult => ({
  content,
  isError: true,
  rejectedFor,
});
