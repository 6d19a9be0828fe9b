import { z } from 'zod';
import type { MemoryStore, PolicyRejection } from '../memory-store.ts';
import { containsLoneSurrogate, containsNul, isMissing, type Language } from '../messages.ts';
import type { MemoryPath } from '../path.ts';
import type { MemoryResult } from '../result.ts';
import { mask, type Redaction, type Secret } from '../secrets/secrets.ts';

/** Limits that a command enforces; 0 means no limit. */
export interface MemoryLimits {
  /** Maximum file size in UTF-8 bytes. */
  maxFileBytes: number;
  /** Maximum length of a `view` result in UTF-16 units. */
  maxViewChars: number;
}

/** A file's lines that a view shows, from `first` to `last`, counted from 1. */
export interface ShownLines {
  path: MemoryPath;
  content: string;
  first: number;
  last: number;
}

export interface MemoryContext {
  store: MemoryStore;
  limits: MemoryLimits;
  access: 'read_write' | 'read_only';
  /** Handling of secrets in written text; undefined disables the scan. */
  redaction: Redaction | undefined;
  /** Behavior of `create` for a file that exists. */
  createExisting: 'error' | 'overwrite';
  /** Language of the `view` headers. */
  language: Language;
  /** Returns the block that a view appends to a file's lines; undefined if views have none. */
  describeLines?: ((shown: ShownLines) => Promise<string>) | undefined;
}

/** A memory command. To add one, create a file in this directory and an entry in `index.ts`. */
export interface MemoryCommand {
  name: string;
  description: string;
  /** Whether the command can change the memory. */
  access: 'read' | 'write';
  /** Texts in the tool's definition for models without the built-in memory tool. */
  definition: { use: string; fields?: Readonly<Record<string, string>> };
  /** Input schema, including `command`. OpenAPI includes this schema. */
  schema: z.ZodObject;
  /** Executes the command on an input parsed by the schema. */
  run(input: z.output<z.ZodObject>, context: MemoryContext): Promise<MemoryResult>;
}

/** Declares a command and infers its input type from the schema. */
export function defineCommand<Schema extends z.ZodObject>(
  command: Omit<MemoryCommand, 'schema' | 'run'> & {
    schema: Schema;
    run(input: z.output<Schema>, context: MemoryContext): Promise<MemoryResult>;
  },
): MemoryCommand {
  return command as MemoryCommand;
}

/** Returns the first problem in field order. Missing or mistyped fields precede texts that cannot be stored. */
export function firstProblem(issues: z.core.$ZodIssue[]): [field: string, problem: string] {
  const issue = issues.find(({ code }) => code !== 'custom') ?? issues[0];
  return [String(issue?.path[0] ?? 'input'), issue?.message ?? 'is not valid'];
}

/** A path as the model wrote it, before `parsePath`. */
export const pathField = (description: string, example: string) =>
  z.string({ error: wrongType('must be a string') }).meta({ description, examples: [example] });

/** Text to store or search for: any well-formed Unicode except NUL, which Postgres `text` cannot hold. */
export const textField = (description: string, example: string) =>
  z
    .string({ error: wrongType('must be a string') })
    .superRefine((text, refinement) => {
      const problem = textProblem(text);
      if (problem !== undefined) refinement.addIssue({ code: 'custom', message: problem });
    })
    .meta({ description, examples: [example] });

export const integerField = (description: string, example: number) =>
  z.int({ error: wrongType('must be an integer') }).meta({ description, examples: [example] });

/** A zod error map for a field that is missing or has the wrong type. */
export function wrongType(message: string) {
  return (issue: { input?: unknown }) => (issue.input === undefined ? isMissing : message);
}

const LONE_SURROGATE = /\p{Cs}/u;

/** Explains why a text cannot be stored. */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return containsNul;
  if (text.isWellFormed()) return undefined;
  return containsLoneSurrogate(LONE_SURROGATE.exec(text)?.[0] ?? '');
}

/**
 * Masks secrets in a write's result if masking is on. Results are stored under idempotency keys. They may quote the
 * input, or lines stored before masking was switched on.
 */
export async function maskResult(
  result: MemoryResult,
  { redaction }: Pick<MemoryContext, 'redaction'>,
): Promise<MemoryResult> {
  if (redaction === undefined) return result;
  return { ...result, content: mask(result.content, await redaction.scanner.scan(result.content)) };
}

/**
 * Rejects a new path that contains a secret, in both modes, because a masked path would be another path. Returns
 * undefined for any other path.
 */
export async function rejectSecretPath(
  path: MemoryPath,
  { redaction }: Pick<MemoryContext, 'redaction'>,
): Promise<PolicyRejection | undefined> {
  const secrets = redaction === undefined ? [] : await redaction.scanner.scan(path);
  return secrets.length === 0 ? undefined : { kind: 'secret_in_path', kinds: listKinds(secrets) };
}

export function listKinds(secrets: readonly Secret[]): string[] {
  return [...new Set(secrets.map(({ kind }) => kind))];
}
