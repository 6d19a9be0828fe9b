/** Messages in a JSON-RPC batch: as many as `/execute` takes calls in an array. */
export const MAX_MESSAGES = 32;

/** What is wrong with a batch. */
export function batchProblem(body: unknown): string | undefined {
  if (!Array.isArray(body) || (body.length > 0 && body.length <= MAX_MESSAGES)) return undefined;
  return `The batch holds ${body.length} messages, and 1 to ${MAX_MESSAGES} are allowed.`;
}

/** The code that JSON-RPC has for it. */
export const INVALID_REQUEST = -32600;
