import { type Fields, fail, hex } from './model-types.ts';

type Kind = 'path' | 'text' | 'integer' | 'range';
type Field = [name: keyof Fields, kind: Kind, optional?: 'optional'];

/** Fields in the six commands, in the contract's order (section 2). */
const FIELDS: Record<string, Field[]> = {
  view: [
    ['path', 'path'],
    ['view_range', 'range', 'optional'],
  ],
  create: [
    ['path', 'path'],
    ['file_text', 'text'],
  ],
  str_replace: [
    ['path', 'path'],
    ['old_str', 'text'],
    ['new_str', 'text', 'optional'],
  ],
  insert: [
    ['path', 'path'],
    ['insert_line', 'integer'],
    ['insert_text', 'text'],
  ],
  delete: [['path', 'path']],
  rename: [
    ['old_path', 'path'],
    ['new_path', 'path'],
  ],
};

const EXPECTED: Record<Kind, string> = {
  path: 'must be a string',
  text: 'must be a string',
  integer: 'must be an integer',
  range: 'must be an array of two integers',
};

function isOfKind(kind: Kind, value: unknown): boolean {
  if (kind === 'integer') return Number.isSafeInteger(value);
  if (kind === 'range')
    return Array.isArray(value) && value.length === 2 && value.every(Number.isSafeInteger);
  return typeof value === 'string';
}

/** Returns the problem with a text, or undefined. */
function textProblem(name: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.includes('\0')) return `\`${name}\` contains a NUL character (U+0000), which cannot be stored`;
  const lone = /\p{Cs}/u.exec(value)?.[0];
  if (lone === undefined) return undefined;
  return `\`${name}\` contains a lone surrogate (${hex(lone.charCodeAt(0))}), which is not valid Unicode`;
}

/**
 * Section 3: checks that the command's fields are present and have the right types, and then the texts' contents. The
 * rules for paths apply afterward.
 */
export function checkInput(input: Record<string, unknown>): { command: string; fields: Fields } {
  const command = String(input.command);
  const fields = Object.hasOwn(FIELDS, command) ? FIELDS[command] : undefined;
  if (!fields) {
    fail(
      `Error: Unknown command: ${command}. The commands are view, create, str_replace, insert, delete, rename`,
    );
  }
  for (const [name, kind, optional] of fields) {
    const value = input[name];
    if (optional && (value === undefined || value === null)) continue;
    if (value === undefined) fail(`Error: Invalid input for ${command}: \`${name}\` is missing`);
    if (!isOfKind(kind, value)) fail(`Error: Invalid input for ${command}: \`${name}\` ${EXPECTED[kind]}`);
  }
  for (const [name, kind] of fields) {
    if (kind !== 'text') continue;
    const problem = textProblem(name, input[name]);
    if (problem) fail(`Error: Invalid input for ${command}: ${problem}`);
  }
  return { command, fields: input as unknown as Fields };
}
