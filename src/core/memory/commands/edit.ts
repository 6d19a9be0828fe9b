import type { Edit, PolicyRejection, Rejection } from '../memory-store.ts';
import { rejectionMessage, secretsMasked } from '../messages.ts';
import type { MemoryPath } from '../path.ts';
import { failure, type MemoryResult, rejection, success } from '../result.ts';
import { mask, type Secret } from '../secrets/secrets.ts';
import type { Change } from '../text-changes.ts';
import { listKinds, type MemoryContext, maskResult } from './memory-command.ts';

/**
 * Edits a file, and returns the result for the model.
 *
 * @param edit.change returns the changed content, or an error message
 * @param edit.describe returns the success message for the stored change
 * @param edit.missing error message for a missing file
 */
export async function editFile(
  path: MemoryPath,
  edit: {
    change: (content: string) => Change | string;
    describe: (written: Change) => string;
    missing: string;
  },
  context: MemoryContext,
): Promise<MemoryResult> {
  const outcome = await context.store.edit<string | PolicyRejection>(path, async (content) => {
    const change = edit.change(content);
    if (typeof change === 'string') return { rejection: change };
    return applyWritePolicy(path, content, change, edit.describe, context);
  });
  switch (outcome.kind) {
    case 'edited':
      return outcome.result;
    case 'rejected':
      return typeof outcome.rejection === 'string'
        ? failure(outcome.rejection)
        : rejectionResult(outcome.rejection);
    case 'missing':
      return failure(edit.missing);
    case 'over_quota':
      return rejectionResult(outcome);
  }
}

/** Returns the result for a rejected write. */
export function rejectionResult(outcome: Rejection): MemoryResult {
  const message = rejectionMessage(outcome);
  return outcome.kind === 'over_quota' ? rejection(message, 'over_quota') : failure(message);
}

/**
 * Decides whether a change is stored unchanged, stored with masked secrets, or rejected for its secrets or its size. A
 * file above a limit that was lowered later can still shrink.
 *
 * @param before file content before the change; undefined for a new file
 * @param describe returns the success message for the stored change
 */
export async function applyWritePolicy(
  path: MemoryPath,
  before: string | undefined,
  change: Change,
  describe: (written: Change) => string,
  { limits: { maxFileBytes }, redaction }: Pick<MemoryContext, 'limits' | 'redaction'>,
): Promise<Edit<PolicyRejection>> {
  const secrets =
    redaction === undefined ? [] : findTouching(change, await redaction.scanner.scan(change.content, change));
  if (secrets.length > 0 && redaction?.mode === 'reject')
    return { rejection: { kind: 'secrets_in_content', kinds: listKinds(secrets) } };

  const written = secrets.length > 0 ? maskChange(change, secrets) : change;
  const bytes = Buffer.byteLength(written.content);
  if (
    maxFileBytes > 0 &&
    bytes > maxFileBytes &&
    (before === undefined || bytes > Buffer.byteLength(before))
  ) {
    return { rejection: { kind: 'file_too_large', path, maxBytes: maxFileBytes } };
  }
  const result = await maskResult(success(describe(written)), { redaction });
  return { ...written, result: successWith(result.content, secrets) };
}

/** Returns the secrets that the change adds or completes, without secrets elsewhere in the file. */
function findTouching({ start, end }: Change, secrets: Secret[]): Secret[] {
  return secrets.filter((secret) => secret.start < end && secret.end > start);
}

function maskChange({ content, start, end }: Change, secrets: Secret[]): Change {
  const from = Math.min(start, secrets[0]?.start ?? start);
  const to = Math.max(end, secrets.at(-1)?.end ?? end);
  const part = mask(
    content.slice(from, to),
    secrets.map((secret) => ({ ...secret, start: secret.start - from, end: secret.end - from })),
  );
  return { content: content.slice(0, from) + part + content.slice(to), start: from, end: from + part.length };
}

function successWith(message: string, secrets: Secret[]): MemoryResult {
  return success(
    secrets.length === 0 ? message : `${message}\n${secretsMasked(secrets.length, listKinds(secrets))}`,
  );
}
