import type { QueryExecutor, TracedRequest } from './query.ts';

/** Traces statements. There is none while tracing is off. */
export interface StatementTracer {
  /** The traced request that is being served, if there is one. A call that waits in a queue keeps it, since it is sent outside of it. */
  current(): TracedRequest | undefined;
  /** Executes a statement, which throws a `DatabaseError`, for the traced requests that it serves. */
  trace<T>(statement: string, requests: readonly TracedRequest[], execute: () => Promise<T>): Promise<T>;
}

/** An executor whose statements are traced; the same one when there is no tracer. */
export function traced(execute: QueryExecutor, tracer: StatementTracer | undefined): QueryExecutor {
  if (tracer === undefined) return execute;
  return (statement, params, requests = tracedRequests([{ request: tracer.current() }])) =>
    tracer.trace(statement.name, requests, () => execute(statement, params));
}

/** The traced requests of calls that share a statement. */
export function tracedRequests(calls: readonly { request: TracedRequest | undefined }[]): TracedRequest[] {
  return calls.flatMap(({ request }) => request ?? []);
}
