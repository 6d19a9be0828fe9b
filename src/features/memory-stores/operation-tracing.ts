import type { FastifyRequest } from 'fastify';
import type { MemoryOperation, OperationSubject } from '../../core/http/tracing.ts';
import { toPublicId, toUuid } from '../../core/tenants/store-ids.ts';

/** API operations that the GenAI conventions name. Reads map to `search_memory`, the only read in the conventions. */
const OPERATIONS: ReadonlyMap<string, MemoryOperation> = new Map([
  ['createMemoryStore', 'create_memory_store'],
  ['deleteMemoryStore', 'delete_memory_store'],
  ['createMemory', 'create_memory'],
  ['listMemories', 'search_memory'],
  ['retrieveMemory', 'search_memory'],
  ['updateMemory', 'update_memory'],
  ['deleteMemory', 'delete_memory'],
]);

/** Runs an operation with a span. Without tracing, runs only the operation. */
export function runInOperation<Result extends object | null>(
  { trace, params }: FastifyRequest,
  id: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const operation = trace === undefined ? undefined : OPERATIONS.get(id);
  if (trace === undefined || operation === undefined) return work();
  const { memory_store_id: store, memory_id: given = '' } = params as Record<string, string>;
  // The caller may send any text as the ID.
  const uuid = toUuid('mem', given);
  const record = uuid === undefined ? undefined : toPublicId('mem', uuid);
  const span = trace.startOperation({ operation, store, record });
  return span.run(async () => {
    const result = await work();
    span.note(operationSubject(result));
    return result;
  });
}

function operationSubject(result: object | null): OperationSubject {
  const { type, id, data } = (result ?? {}) as { type?: string; id?: string; data?: { type: string }[] };
  if (type === 'memory') return { record: id };
  if (type === 'memory_store') return { store: id };
  return { count: data?.filter((item) => item.type === 'memory').length };
}
