import { hash } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import type { MemoryResult } from '../memory/result.ts';
import { AlreadyAnswered } from '../memory/store.ts';
import type { Run } from './statement.ts';
import { findAnswerStatement, type Receipt, rememberFailureStatement } from './statements/receipts.ts';

/** A write's idempotency key and what it asks for, both as hashes. */
export interface RequestKey {
  keyHash: string;
  requestHash: string;
}

/**
 * The key of a request.
 *
 * @param key what the caller gave: any text
 * @param input what it asks for; the order of its fields does not matter
 */
export function requestKey(key: string, input: Record<string, unknown>): RequestKey {
  const fields = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1));
  return { keyHash: sha256(key), requestHash: sha256(JSON.stringify(fields)) };
}

/** What a statement stores with the change that it makes. */
export function receiptOf({ keyHash, requestHash }: RequestKey, answer: MemoryResult): Receipt {
  return { keyHash, requestHash, answer: answer.content };
}

/**
 * Does nothing when the key has no answer yet.
 *
 * @throws AlreadyAnswered when it has
 * @throws ServiceError 422 when it is for another request
 */
export async function checkUnanswered(run: Run, tenant: string, request: RequestKey): Promise<void> {
  const { keyHash, requestHash } = request;
  const found = (await run(findAnswerStatement, { tenant, keyHash })).rows[0];
  if (found === undefined) return;
  if (found.requestHash !== requestHash) {
    throw new ServiceError(
      422,
      'idempotency_key_reused',
      'The idempotency key (a tool_use block’s id, or Idempotency-Key) came with another write before: use a new one for each call.',
    );
  }
  throw new AlreadyAnswered({ content: found.content, isError: found.isError });
}

/** Remembers a failure under the key. @throws as `checkUnanswered`, when another request was faster. */
export async function rememberFailure(
  run: Run,
  tenant: string,
  request: RequestKey,
  answer: MemoryResult,
): Promise<void> {
  const { count } = await run(rememberFailureStatement, { tenant, ...receiptOf(request, answer) });
  if (count === 0) await checkUnanswered(run, tenant, request);
}

function sha256(text: string): string {
  return hash('sha256', text, 'base64url');
}
