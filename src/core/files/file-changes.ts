import { hash } from 'node:crypto';
import { hasReason, ServiceError } from '../errors/errors.ts';
import { createFile } from '../memory/commands/create.ts';
import { deletePath } from '../memory/commands/delete.ts';
import { applyWritePolicy } from '../memory/commands/edit.ts';
import type { MemoryContext } from '../memory/commands/memory-command.ts';
import { renamePath } from '../memory/commands/rename.ts';
import type { PolicyRejection, Rejection } from '../memory/memory-store.ts';
import { deletedMessage } from '../memory/messages.ts';
import type { Origin } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { success } from '../memory/result.ts';
import type { Change } from '../memory/text-changes.ts';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { quotaExceeded } from '../tenants/tenants.ts';
import { Memory } from './memory.ts';
import { findPathsQuery } from './read-queries.ts';
import type { Services } from './services.ts';

/** The tenant whose files an operator changes, and the origin for the history. */
export interface FileSession {
  services: Services;
  tenant: TenantRow;
  origin: Origin;
}

/** Precondition on the current content. If it is not met, the memory remains unchanged. */
export type Expected = { sha256: readonly string[] } | 'anything';

/** A written file. Its content may differ from the given content, because secrets are masked. */
export interface Written {
  /** `unchanged` means that the file already had this content, so the history has no new version. */
  action: 'created' | 'replaced' | 'unchanged';
  message: string;
  sha256: string;
}

/** Returns a content's SHA-256 in hexadecimal. */
export function contentHash(content: string): string {
  return hash('sha256', content, 'hex');
}

/**
 * Creates a file, under the same rules and limits as requests.
 *
 * @throws ServiceError when the path exists, or when the content or the path is rejected
 */
export function createAt(session: FileSession, path: MemoryPath, text: string): Promise<Written> {
  return runChange(session, async (context) => {
    checkText(path, text);
    const file = await createFile(path, text, context);
    if (file.kind === 'created') {
      return { action: 'created', message: file.result.content, sha256: contentHash(file.content) };
    }
    throw rejectionError(session.tenant.id, file);
  });
}

/**
 * Replaces a file's content, under the same rules and limits as requests.
 *
 * @returns undefined when the file does not exist
 * @throws ServiceError when the precondition is not met, or when the content is rejected
 */
export function replaceAt(
  session: FileSession,
  path: MemoryPath,
  text: string,
  expected: Expected,
): Promise<Written | undefined> {
  const tenant = session.tenant.id;
  return runChange(session, async (context) => {
    checkText(path, text);
    const edited = await context.store.edit<PolicyRejection | 'changed'>(path, (before) => {
      if (!isAsExpected(before, expected)) return { rejection: 'changed' };
      const change = { content: text, start: 0, end: text.length };
      const describe = (written: Change) =>
        written.content === before
          ? `File unchanged at: ${path}. It had this content already.`
          : `File replaced successfully at: ${path}`;
      return applyWritePolicy(path, before, change, describe, context);
    });
    switch (edited.kind) {
      case 'edited': {
        const action = edited.content === edited.before ? 'unchanged' : 'replaced';
        return { action, message: edited.result.content, sha256: contentHash(edited.content) };
      }
      case 'missing':
        return undefined;
      case 'rejected':
        throw edited.rejection === 'changed'
          ? new ServiceError('changed_since_read', path)
          : rejectionError(tenant, edited.rejection);
      case 'over_quota':
        throw rejectionError(tenant, edited);
    }
  });
}

/**
 * Deletes a file, or with `recursive` a directory and everything below it.
 *
 * @returns the success message
 * @throws ServiceError when the path does not exist, is a directory without `recursive`, or does not meet the
 * precondition
 */
export function deleteAt(
  session: FileSession,
  path: MemoryPath,
  { recursive, expected }: { recursive: boolean; expected: Expected },
): Promise<string> {
  const tenant = session.tenant.id;
  return runChange(session, async (context) => {
    if (!recursive) {
      const { rows } = await session.services.database.query(findPathsQuery, { tenant, paths: [path] });
      if (rows[0]?.kind === 'dir') throw new ServiceError('directory_not_recursive', path);
    }
    if (expected === 'anything') {
      const outcome = await deletePath(path, context);
      if (outcome.kind === 'deleted') return outcome.result.content;
      throw outcome.kind === 'root'
        ? new ServiceError('cannot_delete_root')
        : new ServiceError('nothing_at', tenant, path);
    }
    const result = success(deletedMessage(path));
    const isExpected = (content: string) => isAsExpected(content, expected);
    const { kind } = await context.store.deleteIf(path, isExpected, result);
    if (kind === 'missing') throw new ServiceError('nothing_at', tenant, path);
    if (kind === 'changed') throw new ServiceError('changed_since_read', path);
    return result.content;
  });
}

/**
 * Moves a file, or a directory and everything below it, to a free path.
 *
 * @returns the success message
 * @throws ServiceError when the source does not exist or cannot be moved to the destination
 */
export function moveAt(session: FileSession, from: MemoryPath, to: MemoryPath): Promise<string> {
  const tenant = session.tenant.id;
  return runChange(session, async (context) => {
    const outcome = await renamePath(from, to, context);
    switch (outcome.kind) {
      case 'renamed':
        return outcome.result.content;
      case 'source_missing':
        throw new ServiceError('nothing_at', tenant, from);
      case 'root':
        throw new ServiceError('cannot_move_root');
      case 'destination_exists':
        throw new ServiceError('destination_exists', to);
      case 'inside_itself':
        throw new ServiceError('move_inside_itself', from, to);
      case 'too_long':
        throw new ServiceError('path_too_long', outcome.path);
      default:
        throw rejectionError(tenant, outcome);
    }
  });
}

function isAsExpected(content: string, expected: Expected): boolean {
  return expected === 'anything' || expected.sha256.includes(contentHash(content));
}

function checkText(path: MemoryPath, text: string): void {
  if (text.includes('\0')) throw new ServiceError('content_has_nul', path);
}

/** Converts a rejection by the domain into an error for an operator. */
function rejectionError(tenant: string, rejection: Rejection): ServiceError {
  switch (rejection.kind) {
    case 'exists':
      return new ServiceError('path_exists', tenant, rejection.path);
    case 'not_a_directory':
      return new ServiceError('not_a_directory', rejection.path);
    case 'file_too_large':
      return new ServiceError('file_too_large', rejection.path, rejection.maxBytes);
    case 'secrets_in_content':
    case 'secret_in_path':
      return new ServiceError(rejection.kind, rejection.kinds);
    case 'over_quota':
      return quotaExceeded(tenant, rejection, 'change');
  }
}

/** Runs one change to a tenant's memory under its limits and its setting for secrets. */
async function runChange<T>(
  { services, tenant, origin }: FileSession,
  change: (context: MemoryContext) => Promise<T>,
): Promise<T> {
  const { maxFileBytes, maxViewChars } = effectiveSettings(tenant, services.config);
  const redaction = await services.tenantRedaction(tenant);
  try {
    return await change({
      store: new Memory(services, tenant.id, { autoCreate: false, origin }),
      limits: { maxFileBytes, maxViewChars },
      access: 'read_write',
      redaction,
      // An operator's replacement has a precondition, so `create` must not overwrite a file.
      createExisting: 'error',
      language: 'en',
    });
  } catch (error) {
    // For an agent, a missing tenant is a permission error. Here the tenant is a missing resource.
    throw hasReason(error, 'unknown_tenant') ? new ServiceError('no_such_tenant', tenant.id) : error;
  }
}
