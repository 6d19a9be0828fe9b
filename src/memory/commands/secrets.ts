import type { MemoryPath } from '../path.ts';
import type { MemoryResult } from '../result.ts';
import { mask, type Secret } from '../secrets.ts';
import type { PolicyRefusal } from '../store.ts';
import type { MemoryContext } from './command.ts';

/**
 * Masks the secrets in the result of a write when redaction is on. Results are stored under idempotency keys, and they can quote the
 * input or show lines that were stored before redaction was switched on.
 */
export async function maskResult(
  result: MemoryResult,
  { redaction }: Pick<MemoryContext, 'redaction'>,
): Promise<MemoryResult> {
  if (redaction === undefined) return result;
  return { ...result, content: mask(result.content, await redaction.scanner.scan(result.content)) };
}

/** Refuses a new path that contains a secret, in either mode: masked, it would be another path. Otherwise returns undefined. */
export async function refuseSecretPath(
  path: MemoryPath,
  { redaction }: Pick<MemoryContext, 'redaction'>,
): Promise<PolicyRefusal | undefined> {
  const secrets = redaction === undefined ? [] : await redaction.scanner.scan(path);
  return secrets.length === 0 ? undefined : { kind: 'secret_in_path', kinds: kindsOf(secrets) };
}

/** Returns each kind once. */
export function kindsOf(secrets: readonly Secret[]): string[] {
  return [...new Set(secrets.map(({ kind }) => kind))];
}
