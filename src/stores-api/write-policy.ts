import { applyWritePolicy } from '../memory/commands/edit.ts';
import { refuseSecretPath } from '../memory/commands/secrets.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { SecretScanner } from '../memory/secrets.ts';
import type { OverQuota, PolicyRefusal } from '../memory/store.ts';
import type { TenantPolicy } from '../tenants/policy-cache.ts';
import { invalid, type StoreError } from './errors.ts';

/**
 * Applies a store's policy on secrets to what is about to be written: returns the content with its secrets masked.
 *
 * @throws StoreError when the policy refuses the content, or the path contains a secret.
 */
export async function applySecretPolicy(
  { path, content }: { path: MemoryPath | null; content: string | null },
  { secrets: secretsMode }: TenantPolicy,
  scanner: SecretScanner,
): Promise<string | null> {
  if (secretsMode === 'store') return content;
  const context = { redaction: { mode: secretsMode, scanner }, limits: { maxFileBytes: 0, maxViewChars: 0 } };
  const refusal = path === null ? undefined : await refuseSecretPath(path, context);
  if (refusal !== undefined) throw refusedBy(refusal);
  if (content === null) return null;
  const change = { content, start: 0, end: content.length };
  const edit = await applyWritePolicy(path ?? ROOT, undefined, change, () => '', context);
  if ('refusal' in edit) throw refusedBy(edit.refusal);
  return edit.content;
}

function refusedBy(refusal: PolicyRefusal): StoreError {
  if (refusal.kind === 'file_too_large') return tooLarge(refusal.maxBytes);
  const field = refusal.kind === 'secret_in_path' ? 'path' : 'content';
  return invalid(`${field}: it contains what looks like a secret (${refusal.kinds.join(', ')}).`);
}

export const tooLarge = (maxFileBytes: number): StoreError =>
  invalid(`content: it is larger than ${maxFileBytes} bytes, the limit of this memory store.`);

export const overQuota = ({ of, used, limit, needed }: Omit<OverQuota, 'kind'>): StoreError =>
  invalid(`The memory store is full: it has ${used} of ${limit} ${of}, and this needs ${needed} more.`);
