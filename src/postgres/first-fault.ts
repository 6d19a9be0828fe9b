import type { Query, QueryExecutor, TracedRequest, Value } from './query.ts';

/**
 * Runs the work of a transaction. After a fault Postgres refuses all further statements with SQLSTATE 25P02, and turns the commit into a
 * rollback without saying so. Therefore the work fails with its first fault, whatever it does afterwards.
 */
export async function failingWithFirstFault<T>(
  query: QueryExecutor,
  work: (query: QueryExecutor) => Promise<T>,
): Promise<T> {
  let fault: unknown;
  const result = await work(
    async <Params extends Record<string, Value>, Row>(
      statement: Query<Params, Row>,
      params: Params,
      requests?: readonly TracedRequest[],
    ) => {
      if (fault !== undefined) throw fault;
      try {
        return await query(statement, params, requests);
      } catch (error) {
        fault ??= error;
        throw fault;
      }
    },
  );
  if (fault !== undefined) throw fault;
  return result;
}
