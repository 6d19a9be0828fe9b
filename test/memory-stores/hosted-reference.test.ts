/** The types in this API and in the SDK, compared field by field. `tsc` fails if a field exists in only one of them. */
import type {
  BetaManagedAgentsDeletedMemory,
  BetaManagedAgentsErrorObject,
  BetaManagedAgentsMemory,
  BetaManagedAgentsMemoryPathConflictErrorObject,
  BetaManagedAgentsMemoryPrefix,
  MemoryCreateParams,
  MemoryDeleteParams,
  MemoryListParams,
  MemoryRetrieveParams,
  MemoryUpdateParams,
} from '@anthropic-ai/sdk/resources/beta/memory-stores/memories';
import type {
  BetaManagedAgentsDeletedMemoryStore,
  BetaManagedAgentsMemoryStore,
  MemoryStoreCreateParams,
  MemoryStoreListParams,
  MemoryStoreUpdateParams,
} from '@anthropic-ai/sdk/resources/beta/memory-stores/memory-stores';
import type {
  BetaManagedAgentsActor,
  BetaManagedAgentsMemoryVersion,
  MemoryVersionListParams,
  MemoryVersionRetrieveParams,
} from '@anthropic-ai/sdk/resources/beta/memory-stores/memory-versions';
import { expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { ErrorType, errorSchema } from '../../src/features/memory-stores/store-errors.ts';
import type {
  deletedSchema,
  memorySchema,
  prefixSchema,
  storeSchema,
  versionSchema,
} from '../../src/features/memory-stores/store-responses.ts';
import type {
  memoryCreate,
  memoryDelete,
  memoryList,
  memoryUpdate,
  memoryView,
  storeCreate,
  storeList,
  storeUpdate,
  versionList,
} from '../../src/features/memory-stores/store-schemas.ts';

/** Parameters that the SDK sends as headers or in the path. */
type Elsewhere = 'betas' | 'workspace_id' | 'memory_store_id';
type Sent<Params> = Exclude<keyof Params, Elsewhere>;
type Taken<Schema extends z.ZodType> = keyof z.input<Schema>;
type Answered<Schema extends z.ZodType> = z.output<Schema>;

it('accepts the parameters that the SDK sends to the Memory Stores API', () => {
  expectTypeOf<Taken<typeof storeCreate>>().toEqualTypeOf<Sent<MemoryStoreCreateParams>>();
  expectTypeOf<Taken<typeof storeUpdate>>().toEqualTypeOf<Sent<MemoryStoreUpdateParams>>();
  expectTypeOf<Taken<typeof storeList>>().toEqualTypeOf<Sent<MemoryStoreListParams>>();
  expectTypeOf<Taken<typeof memoryCreate> | Taken<typeof memoryView>>().toEqualTypeOf<
    Sent<MemoryCreateParams>
  >();
  expectTypeOf<Taken<typeof memoryUpdate> | Taken<typeof memoryView>>().toEqualTypeOf<
    Sent<MemoryUpdateParams>
  >();
  expectTypeOf<Taken<typeof memoryView>>().toEqualTypeOf<Sent<MemoryRetrieveParams>>();
  expectTypeOf<Taken<typeof memoryList>>().toEqualTypeOf<Sent<MemoryListParams>>();
  expectTypeOf<Taken<typeof memoryDelete>>().toEqualTypeOf<Sent<MemoryDeleteParams>>();
  expectTypeOf<Taken<typeof versionList>>().toEqualTypeOf<Sent<MemoryVersionListParams>>();
  expectTypeOf<Taken<typeof memoryView>>().toEqualTypeOf<Sent<MemoryVersionRetrieveParams>>();
  expectTypeOf<Omit<MemoryStoreCreateParams, Elsewhere>>().toExtend<z.input<typeof storeCreate>>();
  expectTypeOf<Omit<MemoryStoreUpdateParams, Elsewhere>>().toExtend<z.input<typeof storeUpdate>>();
});

it('returns the objects that the SDK reads from the Memory Stores API', () => {
  expectTypeOf<Answered<typeof storeSchema>>().toExtend<BetaManagedAgentsMemoryStore>();
  expectTypeOf<keyof Answered<typeof storeSchema>>().toEqualTypeOf<keyof BetaManagedAgentsMemoryStore>();
  expectTypeOf<Answered<typeof memorySchema>>().toExtend<BetaManagedAgentsMemory>();
  expectTypeOf<keyof Answered<typeof memorySchema>>().toEqualTypeOf<keyof BetaManagedAgentsMemory>();
  expectTypeOf<Answered<typeof prefixSchema>>().toEqualTypeOf<BetaManagedAgentsMemoryPrefix>();
  expectTypeOf<keyof Answered<typeof versionSchema>>().toEqualTypeOf<keyof BetaManagedAgentsMemoryVersion>();
  // The SDK's description permits null here, but its type does not.
  type Version = Omit<BetaManagedAgentsMemoryVersion, 'created_by' | 'redacted_by'>;
  expectTypeOf<Answered<typeof versionSchema>>().toExtend<Version>();
  type Actor = NonNullable<Answered<typeof versionSchema>['created_by']>;
  expectTypeOf<Actor>().toEqualTypeOf<BetaManagedAgentsActor>();
  type Deleted<Type extends 'memory_store_deleted' | 'memory_deleted'> = Answered<
    ReturnType<typeof deletedSchema<Type>>
  >;
  expectTypeOf<Deleted<'memory_deleted'>>().toEqualTypeOf<BetaManagedAgentsDeletedMemory>();
  expectTypeOf<Deleted<'memory_store_deleted'>>().toEqualTypeOf<BetaManagedAgentsDeletedMemoryStore>();
});

it('returns the error types that the SDK knows', () => {
  // This service has no billing, and an oversized body is an error of the whole API.
  type Known = Exclude<BetaManagedAgentsErrorObject['type'], 'billing_error'> | 'request_too_large';
  expectTypeOf<ErrorType>().toEqualTypeOf<Known>();
  type Fields = keyof Answered<typeof errorSchema>['error'];
  expectTypeOf<Fields>().toEqualTypeOf<keyof BetaManagedAgentsMemoryPathConflictErrorObject>();
});
