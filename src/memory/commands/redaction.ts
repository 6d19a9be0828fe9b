import { secretInPath } from '../messages.ts';
import type { MemoryPath } from '../path.ts';
import { mask, type Secret } from '../redactor.ts';
import { failure, type MemoryResult } from '../result.ts';
import type { MemoryContext } from './command.ts';

/**
 * The answer of a write with its secrets masked, where redaction is on. Answers are stored under idempotency keys, and
 * can quote the input or show lines that were stored before redaction was switched on.
 */
export async function maskAnswer(
  answer: MemoryResult,
  { redaction }: Pick<MemoryContext, 'redaction'>,
): Promise<MemoryResult> {
  if (redaction === undefined) return answer;
  return { ...answer, content: mask(answer.content, await redaction.scanner.scan(answer.content)) };
}

/** The refusal of a new path that holds a secret, whatever the mode: masked, it would be another path. Else undefined. */
export async function refuseSecretPath(
  path: MemoryPath,
  { redaction }: Pick<MemoryContext, 'redaction'>,
): Promise<MemoryResult | undefined> {
  const secrets = redaction === undefined ? [] : await redaction.scanner.scan(path);
  return secrets.length === 0 ? undefined : failure(secretInPath(kindsOf(secrets)));
}

/** Each kind once. */
export function kindsOf(secrets: readonly Secret[]): string[] {
  return [...new Set(secrets.map(({ kind }) => kind))];
}
