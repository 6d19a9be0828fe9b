import { hash } from 'node:crypto';
import type { Transfer } from '../archive/transfer.ts';
import type { Config } from '../config.ts';
import { OperatorError } from '../errors.ts';
import type { MemoryContext } from '../memory/commands/command.ts';
import { createFile } from '../memory/commands/create.ts';
import { applyWritePolicy } from '../memory/commands/edit.ts';
import { executeCommand } from '../memory/commands/index.ts';
import { containsNul, deleted, missing } from '../memory/messages.ts';
import type { Origin } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { type MemoryResult, success } from '../memory/result.ts';
import type { Change } from '../memory/text.ts';
import type { Database } from '../postgres/database.ts';
import { loadSecretScanner } from '../secrets/load-scanner.ts';
import { PostgresMemory } from '../store/memory-store.ts';
import { effectiveSettings, tenantDefaults } from '../tenants/effective-settings.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { noRoom } from '../tenants/tenants.ts';
import { nothingAt } from './listing.ts';

/** Where an operator changes files, and whom the history names. */
export interface FileSession {
  config: Config;
  database: Database;
  tenant: TenantRow;
  transfer: Transfer;
  origin: Origin;
}

/** What is at a path has to be so, or nothing is changed. By default it may be anything. */
export type Expected = { sha256: readonly string[] } | 'anything';

/** A file as it was written: its content may differ from what was sent, as secrets are masked. */
export interface Written {
  /** `unchanged`: the file had this content already, so the history has no version of it. */
  action: 'created' | 'replaced' | 'unchanged';
  message: string;
  sha256: string;
}

/** The SHA-256 of a content, in hexadecimal. */
export function contentHash(content: string): string {
  return hash('sha256', content, 'hex');
}

/**
 * Creates a file, by the rules and limits of requests.
 *
 * @throws OperatorError `precondition_failed` when something is there; or when the file is refused.
 */
export function createAt(session: FileSession, path: MemoryPath, text: string): Promise<Written> {
  return changing(session, async (context) => {
    checkText(path, text);
    const file = await createFile(path, text, context);
    if (file.kind === 'created') {
      return { action: 'created', message: file.result.content, sha256: contentHash(file.content) };
    }
    throw new OperatorError(plain(file.result), {
      code: file.kind === 'exists' ? 'precondition_failed' : 'refused',
    });
  });
}

/**
 * Replaces the content of a file, by the rules and limits of requests.
 *
 * @returns undefined when there is no file
 * @throws OperatorError `precondition_failed` when the file is not as expected; or when the content is refused.
 */
export function replaceAt(
  session: FileSession,
  path: MemoryPath,
  text: string,
  expected: Expected,
): Promise<Written | undefined> {
  const tenant = session.tenant.id;
  return changing(session, async (context) => {
    checkText(path, text);
    let saved = { before: '', content: '' };
    const edited = await context.store.edit(path, async (before) => {
      if (!isAsExpected(before, expected)) throw changedSince(path);
      const change = { content: text, start: 0, end: text.length };
      const describe = (written: Change) =>
        written.content === before
          ? `File unchanged at: ${path}. It had this content already.`
          : `File replaced successfully at: ${path}`;
      const edit = await applyWritePolicy(path, before, change, describe, context);
      if (edit.content !== undefined) saved = { before, content: edit.content };
      return edit;
    });
    if (edited.kind === 'missing') return undefined;
    if (edited.kind === 'over_quota') throw noRoom(tenant, edited, 'new content');
    if (edited.kind === 'refused') throw new OperatorError(plain(edited.result));
    const { before, content } = saved;
    return {
      action: content === before ? 'unchanged' : 'replaced',
      message: edited.result.content,
      sha256: contentHash(content),
    };
  });
}

/**
 * Deletes a file, or with `recursive` a directory and everything below it.
 *
 * @returns the message
 * @throws OperatorError when there is nothing, a directory without `recursive`, or something else than expected.
 */
export function deleteAt(
  session: FileSession,
  path: MemoryPath,
  { recursive, expected }: { recursive: boolean; expected: Expected },
): Promise<string> {
  return changing(session, async (context) => {
    if (!recursive && (await session.transfer.find(session.tenant.id, path))?.kind === 'dir') {
      throw new OperatorError(
        `${path} is a directory. Add --recursive to delete it and everything below it.`,
      );
    }
    if (expected === 'anything') {
      const result = await executeCommand({ command: 'delete', path }, context);
      if (!result.isError) return result.content;
      throw new OperatorError(plain(result), {
        code: result.content === missing(path) ? 'not_found' : 'refused',
      });
    }
    const result = success(deleted(path));
    const isExpected = (content: string) => isAsExpected(content, expected);
    const { kind } = await context.store.deleteIf(path, isExpected, result);
    if (kind === 'missing') throw nothingAt(session.tenant.id, path);
    if (kind === 'changed') throw changedSince(path);
    return result.content;
  });
}

function isAsExpected(content: string, expected: Expected): boolean {
  return expected === 'anything' || expected.sha256.includes(contentHash(content));
}

function changedSince(path: MemoryPath): OperatorError {
  return new OperatorError(`${path} has changed since it was read. Read it again.`, {
    code: 'precondition_failed',
  });
}

function checkText(path: MemoryPath, text: string): void {
  if (text.includes('\0')) throw new OperatorError(`The content of ${path} ${containsNul}.`);
}

/** A result for the model as one for an operator. */
function plain({ content }: MemoryResult): string {
  return content.replace(/^Error: /, '');
}

/** Runs one change of a tenant's memory under its limits and its policy on secrets. */
async function changing<T>(
  { config, database, tenant, origin }: FileSession,
  change: (context: MemoryContext) => Promise<T>,
): Promise<T> {
  const { maxFileBytes, maxViewChars, redact } = effectiveSettings(tenant, config);
  const memory = new PostgresMemory(database, {
    batchSize: 1,
    maxAnswers: config.MAX_TENANT_ANSWERS,
    defaults: tenantDefaults(config),
  });
  try {
    return await change({
      store: memory.forTenant(tenant.id, { autoCreate: false, origin }),
      limits: { maxFileBytes, maxViewChars },
      access: 'read_write',
      redaction: redact === 'off' ? undefined : { mode: redact, scanner: await loadSecretScanner() },
      // A replacement says what it replaces.
      createExisting: 'error',
      language: 'en',
    });
  } finally {
    await memory.close();
  }
}
