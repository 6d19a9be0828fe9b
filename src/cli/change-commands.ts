import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import type { MemoryContext } from '../memory/commands/command.ts';
import { applyWritePolicy } from '../memory/commands/edit.ts';
import { executeCommand } from '../memory/commands/index.ts';
import type { MemoryPath } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import { PostgresMemory } from '../store/memory-store.ts';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import { memoryPath, tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { operatorOrigin } from './operator.ts';
import { printJson, printLine } from './output.ts';
import type { Open } from './session.ts';
import { type TenantSession, withTenant } from './tenant-session.ts';

/** `put` and `rm`: one change, by the rules and limits that hold for requests. */
export function registerChangeCommands(program: Command, open: Open, io: Io): void {
  registerPut(program, open, io);
  registerRm(program, open, io);
}

function registerPut(program: Command, open: Open, io: Io): void {
  program
    .command('put')
    .description("Write one file of a tenant's memory. The limits and rules of requests hold.")
    .argument('<tenant>', 'its id', tenantId)
    .argument('<path>', 'where to write it', memoryPath)
    .argument('[source]', 'the file to read; - for the standard input', '-')
    .option('--force', 'replace a file that is there')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
Examples:
  memory-service put acme /memories/notes.md notes.md
  echo 'Be brief.' | memory-service put acme /memories/style.md --force`,
    )
    .action(
      async (
        tenant: string,
        path: MemoryPath,
        source: string,
        { force = false, json }: { force?: boolean; json?: boolean },
      ) => {
        const text = await readText(source, io);
        await withTenant(open, tenant, async (session) => {
          const replaced = force
            ? await changing(session, (context) => replace(path, text, context))
            : undefined;
          const result =
            replaced ??
            (await changing(session, (context) =>
              executeCommand({ command: 'create', path, file_text: text }, context),
            ));
          report(result, { path, action: replaced ? 'replaced' : 'created' }, json ?? false, io);
        });
      },
    );
}

function registerRm(program: Command, open: Open, io: Io): void {
  program
    .command('rm')
    .description("Delete one file of a tenant's memory, or with --recursive a directory and all below it.")
    .argument('<tenant>', 'its id', tenantId)
    .argument('<path>', 'what to delete', memoryPath)
    .option('-r, --recursive', 'delete a directory, too')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
Examples:
  memory-service rm acme /memories/notes.md
  memory-service rm acme /memories/projects --recursive`,
    )
    .action(
      (tenant: string, path: MemoryPath, { recursive, json }: { recursive?: boolean; json?: boolean }) =>
        withTenant(open, tenant, async (session) => {
          if (!recursive && (await session.transfer.find(tenant, path))?.kind === 'dir') {
            throw new OperatorError(`${path} is a directory. Add --recursive to delete it and all below it.`);
          }
          const result = await changing(session, (context) =>
            executeCommand({ command: 'delete', path }, context),
          );
          report(result, { path, action: 'deleted' }, json ?? false, io);
        }),
    );
}

/** Undefined when there is no file at the path. */
async function replace(
  path: MemoryPath,
  text: string,
  context: MemoryContext,
): Promise<MemoryResult | undefined> {
  const edited = await context.store.edit(path, (before) => {
    const change = { content: text, start: 0, end: text.length };
    return applyWritePolicy(path, before, change, () => `File replaced successfully at: ${path}`, context);
  });
  switch (edited.kind) {
    case 'missing':
      return undefined;
    case 'over_quota':
      throw new OperatorError(
        `There is no room: ${edited.used} of ${edited.limit} ${edited.of} are used, and ${edited.needed} more are needed.`,
      );
    default:
      return edited.result;
  }
}

/** Runs one change of a tenant's memory, by its limits and its policy on secrets. */
async function changing<T>(
  { config, database, tenant }: TenantSession,
  change: (context: MemoryContext) => Promise<T>,
): Promise<T> {
  const { maxFileBytes, maxViewChars, redact } = effectiveSettings(tenant, config);
  const memory = new PostgresMemory(database, {
    batchSize: 1,
    maxAnswers: config.MAX_TENANT_ANSWERS,
    historyDays: config.HISTORY_DAYS,
    maxFiles: config.MAX_TENANT_FILES,
    maxBytes: config.MAX_TENANT_BYTES,
  });
  try {
    return await change({
      store: memory.forTenant(tenant.id, { autoCreate: false, origin: operatorOrigin() }),
      limits: { maxFileBytes, maxViewChars },
      access: 'read_write',
      redaction: redact === 'off' ? undefined : { mode: redact, scanner: await loadScanner() },
      language: 'en',
    });
  } finally {
    await memory.close();
  }
}

/** Loaded only where it is used: it takes a while. */
async function loadScanner() {
  const { createSecretScanner } = await import('../redaction/scanner.ts');
  return createSecretScanner();
}

function report(
  { content, isError }: MemoryResult,
  done: { path: MemoryPath; action: string },
  json: boolean,
  io: Io,
): void {
  if (isError) throw new OperatorError(content.replace(/^Error: /, ''));
  if (json) printJson(io.stdout, { ...done, message: content });
  else printLine(io.stdout, content);
}

/** @throws OperatorError when it cannot be read, or is not UTF-8. */
async function readText(source: string, { stdin }: Io): Promise<string> {
  if (source === '-' && stdin.isTTY) {
    throw new OperatorError(
      'There is nothing to write: name a file, or give the content on the standard input.',
    );
  }
  const bytes =
    source === '-'
      ? await buffer(stdin)
      : await readFile(source).catch((error: NodeJS.ErrnoException) => {
          throw new OperatorError(`Cannot read ${source} (${error.code}).`);
        });
  if (isUtf8(bytes)) return bytes.toString();
  throw new OperatorError('The content is not UTF-8 text, and a memory holds text only.');
}
