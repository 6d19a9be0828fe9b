/** The client of the memory service: `memory-service-client`. It has no dependencies. */
export { createSerialRunner as inOrder } from './adapters/in-order.ts';
export { type AssistantMessage, runMemoryTools } from './adapters/messages.ts';
export type {
  Actor,
  ChangeEvent,
  ChangeFilter,
  ChangePage,
  ChangesOptions,
  ChangeType,
  DraftEvent,
  FileEvent,
  LimitEvent,
  ListChangesOptions,
  ShareEvent,
  TenantEvent,
  Version,
} from './changes.ts';
export { type ExecuteOptions, type InstructionsOptions, MemoryClient } from './client.ts';
export { type Context, type ContextOptions, MemoryContext } from './context.ts';
export { MemoryServiceError } from './errors.ts';
export type { Identity } from './identity.ts';
export type { Logger, MemoryClientOptions } from './options.ts';
export { MEMORY_SEARCH_TOOL, type MemorySearchInput } from './search-tool.ts';
export type {
  AcceptanceOptions,
  GivenShare,
  Invitation,
  InvitationOptions,
  MemorySharing,
  ReceivedShare,
  Shares,
} from './sharing.ts';
export type * from './types.ts';
