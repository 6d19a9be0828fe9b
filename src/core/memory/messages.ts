import { describeSecrets } from '../lib/secret-kinds.ts';
import type { Rejection } from './memory-store.ts';
import type { PathProblem } from './path.ts';

/**
 * All strings that a memory command can return, byte for byte. Source: the memory tool's documentation or, where it has
 * no text, the SDK's reference implementation (docs/contract.md). Tests repeat the strings as literals.
 */

const LINE_NUMBER_WIDTH = 6;

const lineNumber = (number: number) => `${String(number).padStart(LINE_NUMBER_WIDTH)}\t`;
/** Prefixes for the first lines, computed once. */
const lineNumbers = Array.from({ length: 1000 }, (_, number) => lineNumber(number));

/** Formats a line for `view` and for the `str_replace` snippet: number right-aligned in 6 columns, tab, line. */
export function numberedLine(number: number, line: string): string {
  return (lineNumbers[number] ?? lineNumber(number)) + line;
}

/** Maximum length for a completely quoted text, in UTF-16 units (contract, section 2). */
export const MAX_QUOTED_CHARS = 4096;

/** Quotes a text in a message. A longer text is truncated and ends with a note. */
export function quoteText(text: string): string {
  if (text.length <= MAX_QUOTED_CHARS) return text;
  const kept = prefix(text, MAX_QUOTED_CHARS);
  return `${kept}[… ${text.length - kept.length} more characters]`;
}

/** Returns the longest prefix with at most `length` UTF-16 units that does not split a surrogate pair. */
export function prefix(text: string, length: number): string {
  const unit = text.charCodeAt(length - 1);
  const splitsPair = length < text.length && unit >= 0xd800 && unit <= 0xdbff;
  return text.slice(0, splitsPair ? length - 1 : length);
}

// Paths

/** Describes an invalid path, for models and people. A model reads `invalidPath`. */
export function pathProblemText(problem: PathProblem): string {
  switch (problem.kind) {
    case 'outside':
      return `Path must start with /memories, got: ${problem.given}`;
    case 'escape':
      return `Path ${problem.given} would escape /memories directory`;
    case 'character':
      return `Path ${jsonEscaped(problem.given)} contains a character that is not allowed: ${codePoint(problem.character)}`;
    case 'too_long':
      return `Path is too long: ${tooLong(problem)} (limit ${problem.limit})`;
  }
}

function tooLong({ of, length }: Extract<PathProblem, { kind: 'too_long' }>): string {
  switch (of) {
    case 'path':
      return `${length} bytes`;
    case 'segment':
      return `a segment of ${length} bytes`;
    case 'depth':
      return `${length} levels below /memories`;
  }
}

export const invalidPath = (problem: PathProblem) => `Error: ${pathProblemText(problem)}`;

// view

/** Languages of the two `view` headers in the documentation's command reference. The first is the default. */
export const languages = ['en', 'es', 'it', 'fr'] as const;
export type Language = (typeof languages)[number];

/** The two headers, as in each language's documentation. All other strings are English. */
const headers: Record<Language, { directory: (path: string) => string; file: (path: string) => string }> = {
  en: {
    directory: (path) =>
      `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:`,
    file: (path) => `Here's the content of ${path} with line numbers:`,
  },
  es: {
    directory: (path) =>
      `Aquí están los archivos y directorios hasta 2 niveles de profundidad en ${path}, excluyendo elementos ocultos y node_modules:`,
    file: (path) => `Aquí está el contenido de ${path} con números de línea:`,
  },
  it: {
    directory: (path) =>
      `Ecco i file e le directory fino a 2 livelli di profondità in ${path}, escludendo elementi nascosti e node_modules:`,
    file: (path) => `Ecco il contenuto di ${path} con numeri di riga:`,
  },
  fr: {
    directory: (path) =>
      `Voici les fichiers et répertoires jusqu'à 2 niveaux de profondeur dans ${path}, excluant les éléments cachés et node_modules :`,
    file: (path) => `Voici le contenu de ${path} avec les numéros de ligne :`,
  },
};
export const directoryHeader = (path: string, language: Language) => headers[language].directory(path);
export const fileHeader = (path: string, language: Language) => headers[language].file(path);
export const viewMissing = (path: string) => `The path ${path} does not exist. Please provide a valid path.`;
export const tooManyLines = (path: string) => `File ${path} exceeds maximum line limit of 999,999 lines.`;
export const invalidViewRange = (start: number, end: number, lineCount: number) =>
  `Error: Invalid \`view_range\` parameter: [${start}, ${end}]. It should be within the range of lines of the file: [1, ${lineCount}]`;
export const linesTruncated = (first: number, last: number, lineCount: number) =>
  `[Truncated: showing lines ${first} to ${last} of ${lineCount}. Use view_range [${last + 1}, -1] to read the rest.]`;
export const lineCut = (line: number, shown: number, length: number, lineCount: number) =>
  `[Truncated: showing line ${line} of ${lineCount}, cut after ${shown} of its ${length} characters.${
    line < lineCount ? ` Use view_range [${line + 1}, -1] to read the rest.` : ''
  }]`;
export const entriesTruncated = (shown: number, total: number) =>
  `[Truncated: showing ${shown} of ${total} entries. View a subdirectory to see the rest.]`;

// create

export const createdMessage = (path: string) => `File created successfully at: ${path}`;
const alreadyExists = (path: string) => `Error: File ${path} already exists`;
const notADirectory = (path: string) => `Error: ${path} is not a directory`;
const fileTooLarge = (path: string, maxBytes: number) =>
  `Error: File ${path} exceeds the maximum memory file size of ${maxBytes} bytes`;

// The tenant's limits

export const readOnly = 'Error: This memory is read-only';
export const tooManyDrafts =
  'Error: Changes of this memory are proposed in a draft, and it cannot have another one: a reviewer has to resolve the open ones first.';
const tooManyFiles = (used: number | null, limit: number) =>
  used === null
    ? `Error: This memory is full: ${limit} files are allowed. Delete files to make room.`
    : `Error: This memory is full: it has ${used} files, and ${limit} are allowed. Delete files to make room.`;
const tooManyDirectories = (used: number | null, limit: number) =>
  used === null
    ? `Error: This memory is full: ${limit} directories are allowed. Delete directories to make room.`
    : `Error: This memory is full: it has ${used} directories, and ${limit} are allowed. Delete directories to make room.`;
const tooManyBytes = (used: number | null, limit: number, needed: number) =>
  used === null
    ? `Error: This memory is full: ${limit} bytes are allowed, and this needs ${needed} more. Delete or shorten files to make room.`
    : `Error: This memory is full: it has ${used} bytes, ${limit} are allowed, and this needs ${needed} more. Delete or shorten files to make room.`;

// Rights by path

/** @param writable directories for writes; `isRootWritable` adds the others */
const elsewhere = (writable: readonly string[], isRootWritable: boolean) =>
  `Write to ${alternatives.format([...(isRootWritable ? ['other directories under /memories'] : []), ...writable])} instead.`;
export const pathReadOnly = (path: string, writable: readonly string[], isRootWritable: boolean) =>
  `Error: ${path} is read-only. ${elsewhere(writable, isRootWritable)}`;
export const pathNotWritable = (path: string, writable: readonly string[], isRootWritable: boolean) =>
  `Error: You cannot write to ${path}. ${elsewhere(writable, isRootWritable)}`;
export const directoryNotWritable = (path: string, below: string) =>
  `Error: Cannot change ${path}: you cannot write to ${below}. Change the other files in ${path} one by one instead.`;

// Mounts

const alternatives = new Intl.ListFormat('en', { type: 'disjunction' });

export const mountReadOnly = (path: string, writable: readonly string[]) =>
  `Error: ${path} is read-only. Write to ${alternatives.format(['your own directories under /memories', ...writable])} instead.`;
export const tooManyMountDrafts = (path: string) =>
  `Error: Changes to ${path} are proposed in a draft, and a reviewer has to resolve the open drafts first. You can still use the rest of /memories.`;
export const cannotDeleteMount = (path: string) =>
  `Error: Cannot delete ${path}: another memory is mounted there`;
export const cannotRenameMount = (path: string) =>
  `Error: Cannot rename ${path}: another memory is mounted there`;
export const renameAcrossMemories = (from: string, to: string) =>
  `Error: Cannot rename ${from} to ${to}: they are in different memories. Create ${to} with the same content, then delete ${from}.`;
/** For a rename between a path to which the caller only proposes changes, and another path. */
export const renameToProposal = (from: string, to: string) =>
  `Error: Cannot rename ${from} to ${to}: changes to only one of them wait for a reviewer. Create ${to} with the same content, then delete ${from}.`;
export const directoryPartlyProposed = (path: string) =>
  `Error: Cannot change ${path}: changes to only some of its files wait for a reviewer. Change the files in ${path} one by one instead.`;
/** For a read-only source, where the original cannot be deleted. */
export const renameFromReadOnly = (from: string, to: string) =>
  `Error: Cannot rename ${from} to ${to}: they are in different memories. To have a copy, create ${to} with the same content.`;
/** Reason why a mounted memory is unavailable. */
export type Unavailable = 'suspended' | 'missing' | 'unreachable';
const whyUnavailable: Record<Unavailable, string> = {
  suspended: 'is suspended',
  missing: 'does not exist',
  unreachable: 'cannot be reached at the moment',
};
const unavailableMessage = (path: string, why: Unavailable) =>
  `${path} is not available: the memory mounted there ${whyUnavailable[why]}.`;
export const mountUnavailable = (path: string, why: Unavailable) =>
  `Error: ${unavailableMessage(path, why)} You can still use the rest of /memories.`;
export const mountUnavailableNote = (path: string, why: Unavailable) => `[${unavailableMessage(path, why)}]`;
/** Stored result for a write whose memory is no longer mounted. */
export const mountedWriteUnknown =
  'Error: This call wrote to a memory that is no longer mounted here. What came of it is not known.';

export const secretsMasked = (count: number, kinds: readonly string[]) =>
  `[${count === 1 ? '1 secret was' : `${count} secrets were`} masked before storing: ${kinds.join(', ')}]`;
const secretInPath = (kinds: readonly string[]) =>
  `Error: Nothing was written: the path contains ${describeSecrets(kinds)}. Leave it out and try again.`;
const secretsRejected = (kinds: readonly string[]) =>
  `Error: Nothing was written: the text contains ${describeSecrets(kinds)}. Leave it out and try again.`;

/** Returns the error message for a rejected write. */
export function rejectionMessage(rejection: Rejection): string {
  switch (rejection.kind) {
    case 'exists':
      return alreadyExists(rejection.path);
    case 'not_a_directory':
      return notADirectory(rejection.path);
    case 'file_too_large':
      return fileTooLarge(rejection.path, rejection.maxBytes);
    case 'secrets_in_content':
      return secretsRejected(rejection.kinds);
    case 'secret_in_path':
      return secretInPath(rejection.kinds);
    case 'over_quota':
      return overQuota(rejection);
  }
}

function overQuota(quota: Extract<Rejection, { kind: 'over_quota' }>): string {
  const { of, used, limit, needed, hidesUsed = false } = quota;
  const known = hidesUsed ? null : used;
  switch (of) {
    case 'files':
      return tooManyFiles(known, limit);
    case 'directories':
      return tooManyDirectories(known, limit);
    case 'bytes':
      return tooManyBytes(known, limit, needed);
  }
}

/** End of a replayed result that was too long to be stored completely. */
export const resultNotKept = '[Truncated: the original result was too long to be stored in full.]';

/** Replacement for a stored result after a redaction in the tenant's history. */
export const resultRedacted = '[Redacted: the answer to this request was removed.]';

// str_replace

/** First line in the result. The snippet follows. */
export const replaced =
  'The memory file has been edited. Here is the snippet showing the change (with line numbers):';
export const noOccurrence = (oldStr: string, path: string) =>
  `No replacement was performed, old_str \`${quoteText(oldStr)}\` did not appear verbatim in ${path}.`;
export const severalOccurrences = (oldStr: string, lines: readonly number[]) =>
  `No replacement was performed. Multiple occurrences of old_str \`${quoteText(oldStr)}\` in lines: ${lines.join(', ')}. Please ensure it is unique`;
export const occurrencesTruncated = (shown: number) =>
  `[Truncated: showing the lines of the first ${shown} occurrences; there are more.]`;
export const snippetTruncated = (first: number, last: number, end: number) =>
  `[Truncated: showing lines ${first} to ${last} of ${first} to ${end}. Use view with view_range [${last + 1}, ${end}] to see the rest.]`;
export const snippetLineCut = (line: number, shown: number, length: number, end: number) =>
  `[Truncated: showing line ${line} of ${line} to ${end}, cut after ${shown} of its ${length} characters.${
    line < end ? ` Use view with view_range [${line + 1}, ${end}] to see the rest.` : ''
  }]`;
export const emptyOldStr = 'Error: Invalid `old_str` parameter: it must not be empty';
export const replaceMissing = (path: string) =>
  `Error: The path ${path} does not exist. Please provide a valid path.`;

// insert, delete, rename

export const insertedMessage = (path: string) => `The file ${path} has been edited.`;
export const invalidInsertLine = (line: number, lineCount: number) =>
  `Error: Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, ${lineCount}]`;
export const missingMessage = (path: string) => `Error: The path ${path} does not exist`;
export const deletedMessage = (path: string) => `Successfully deleted ${path}`;
export const cannotDeleteRoot = 'Error: Cannot delete the /memories directory itself';
export const renamedMessage = (from: string, to: string) => `Successfully renamed ${from} to ${to}`;
export const cannotRenameRoot = 'Error: Cannot rename the /memories directory itself';
export const destinationExists = (to: string) => `Error: The destination ${to} already exists`;
export const destinationInsideSource = (from: string, to: string) =>
  `Error: Cannot rename ${from} to ${to}, which is inside it`;

// Wrong input

export const unknownCommand = (command: string, known: readonly string[]) =>
  `Error: Unknown command: ${quoteText(command)}. The commands are ${known.join(', ')}`;
export const unknownTool = (name: string, known: readonly string[]) =>
  `Error: Unknown tool: ${quoteText(name)}. The tools are ${known.join(', ')}`;
export const tooComplexBlock = (excess: 'levels' | 'values') =>
  `Error: This call was not run: with its tool_use block, the request ${
    excess === 'levels'
      ? 'nests arrays and objects deeper than 32 levels'
      : 'has more than 4096 fields and array items'
  }.`;
/** Describes an invalid field, for models and people. A model reads `invalidField`. */
export const fieldProblemText = (command: string, field: string, problem: string) =>
  `Invalid input for ${command}: \`${field}\` ${problem}`;
export const invalidField = (command: string, field: string, problem: string) =>
  `Error: ${fieldProblemText(command, field, problem)}`;
export const isMissing = 'is missing';
export const mustBeAString = 'must be a string';
export const mustBeAnObject = 'must be an object';
export const containsNul = 'contains a NUL character (U+0000), which cannot be stored';
export const containsLoneSurrogate = (surrogate: string) =>
  `contains a lone surrogate (${codePoint(surrogate)}), which is not valid Unicode`;

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Formats a JSON string that also escapes invisible characters, so that the reader sees the rejected text. */
function jsonEscaped(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
