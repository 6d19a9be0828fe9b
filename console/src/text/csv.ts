/** First characters with which a spreadsheet starts a formula, also after white space that it removes. */
const FORMULA = /^\s*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * Writes a cell in a CSV file (RFC 4180). A text that a spreadsheet would run as a formula gets an apostrophe at the
 * start, because others choose the names for tenants, keys, and actors.
 */
export function csvCell(value: string): string {
  const text = FORMULA.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}

export const csvRow = (cells: readonly string[]) => `${cells.map(csvCell).join(',')}\r\n`;

/** Marks a file as UTF-8, which spreadsheets otherwise guess. */
export const BYTE_ORDER_MARK = '\uFEFF';
