import { applyWritePolicy } from '../memory/commands/edit.ts';
import { refuseSecretPath } from '../memory/commands/secrets.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import type { SecretScanner } from '../memory/secrets.ts';
import type { OverQuota } from '../memory/store.ts';
import type { TenantPolicy } from '../tenants/policy-cache.ts';
import { invalid, type StoreError } from './errors.ts';

/**
 * Applies a store's policy on secrets to what is about to be written: returns the content with its secrets masked.
 *
 * @throws StoreError when the policy refuses the content, or the path contains a secret.
 */
export async function applySecretPolicy(
  { path, content }: { path: MemoryPath | null; content: string | null },
  { redact }: TenantPolicy,
  scanner: SecretScanner,
): Promise<string | null> {
  if (redact === 'off') return content;
  const context = { redaction: { mode: redact, scanner }, limits: { maxFileBytes: 0, maxViewChars: 0 } };
  const refusal = path === null ? undefined : await refuseSecretPath(path, context);
  if (refusal !== undefined) throw invalid(plain(refusal));
  if (content === null) return null;
  const change = { content, start: 0, end: content.length };
  const edit = await applyWritePolicy(path ?? ROOT, undefined, change, () => '', context);
  if (edit.content === undefined) throw invalid(plain(edit.result));
  return edit.content;
}

/** A result for the model as the message of an error. */
function plain({ content }: MemoryResult): string {
  return content.replace(/^Error: /, '');
}

export const tooLarge = (maxFileBytes: number): StoreError =>
  invalid(`content: it is larger than ${maxFileBytes} bytes, the limit of this memory store.`);

export const overQuota = ({ of, used, limit, needed }: Omit<OverQuota, 'kind'>): StoreError =>
  invalid(`The memory store is full: it has ${used} of ${limit} ${of}, and this needs ${needed} more.`);
