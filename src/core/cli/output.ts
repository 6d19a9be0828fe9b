import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { renameKeys, snakeCase } from '../lib/text-forms.ts';
import { formatBytes } from '../lib/units.ts';
import type { Io } from './io.ts';

type Output = Writable & { isTTY?: boolean };

/** Formats a value as JSON, with the admin API's field names. */
export function formatJson(value: unknown): string {
  return `${JSON.stringify(renameKeys(value, snakeCase), null, 2)}\n`;
}

export function printJson(output: Writable, value: unknown): void {
  output.write(formatJson(value));
}

export function printLine(output: Writable, line: string): void {
  output.write(`${line}\n`);
}

/**
 * Returns other users' text for an output. On a terminal, control characters are replaced, because they could
 * manipulate the terminal.
 */
export function sanitizeForTerminal(output: Output, text: string): string {
  return output.isTTY ? text.replace(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, characterName) : text;
}

function characterName(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `<U+${code}>`;
}

interface SizeCell {
  bytes: number;
}

export const sizeCell = (bytes: number | null): SizeCell | null => (bytes === null ? null : { bytes });

type Cell = string | number | SizeCell | null | undefined;

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return '-';
  return typeof cell === 'object' ? formatBytes(cell.bytes) : String(cell);
}

/** Prints a table. Each column is as wide as its widest cell, and numbers are right-aligned. */
export function printTable(output: Output, head: string[], rows: Cell[][]): void {
  const cells = rows.map((row) => row.map((cell) => sanitizeForTerminal(output, cellText(cell))));
  const widths = head.map((title, i) =>
    cells.reduce((width, row) => Math.max(width, row[i]?.length ?? 0), title.length),
  );
  const isNumeric = head.map((_, i) => rows.length > 0 && rows.every((row) => typeof row[i] !== 'string'));
  const line = (row: string[]) =>
    row
      .map((cell, i) => (isNumeric[i] ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  output.write(`${[line(head), ...cells.map(line)].join('\n')}\n`);
}

/** Creates a table's text with a row for each item, from the cells by their columns' titles. */
export const table =
  <Item>(items: readonly Item[], columns: Record<string, (item: Item) => Cell>) =>
  ({ stdout }: Io): void =>
    printTable(
      stdout,
      Object.keys(columns),
      items.map((item) => Object.values(columns).map((cell) => cell(item))),
    );

/** Formats a time in ISO 8601 (UTC, to the second), or returns null for null. */
export function time(value: Date | string | null): string | null {
  return value === null ? null : new Date(value).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Note on default limits. A command on the database cannot know the running service's limits. */
export const DEFAULTS_NOTE =
  "Limits that a tenant does not set come from this command's environment variables, which may differ from the environment of the running service.";

export const DEFAULTS_HELP = `${DEFAULTS_NOTE} With --url, they come from the running service.`;

type Format = Parameters<typeof styleText>[0];

/** Colors a text if the output is a terminal with colors and `NO_COLOR` is not set. */
export function applyStyle(output: Writable, format: Format, text: string): string {
  return styleText(format, text, { stream: output });
}

export function patchText(output: Io['stdout'], patch: string): string {
  let isHeader = true;
  const lines = patch.split('\n').map((line) => {
    if (line.startsWith('@@')) isHeader = false;
    const text = sanitizeForTerminal(output, line);
    const format = line === '' ? undefined : isHeader ? 'bold' : lineFormat(line);
    return format === undefined ? text : applyStyle(output, format, text);
  });
  return lines.join('\n');
}

function lineFormat(line: string): Format | undefined {
  if (line.startsWith('@@')) return 'cyan';
  if (line.startsWith('+')) return 'green';
  return line.startsWith('-') ? 'red' : undefined;
}
