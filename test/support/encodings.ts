import { createHash } from 'node:crypto';
import type { Service } from './test-service.ts';

/** Returns 20 encodings of a text as bytes: forms in which a column, an export, or a log could have the text. */
export function encodeVariants(text: string): Map<string, Buffer> {
  const bytes = Buffer.from(text);
  const units = [...Array(text.length).keys()].map((i) => text.charCodeAt(i));
  const utf16 = Buffer.from(text, 'utf16le');
  const hex = (unit: number) => unit.toString(16).padStart(4, '0');
  const percent = (each: number) => `%${each.toString(16).padStart(2, '0').toUpperCase()}`;
  const encodings: [string, string | Buffer][] = [
    ['UTF-8', bytes],
    ['UTF-16LE', utf16],
    ['UTF-16BE', Buffer.from(utf16).swap16()],
    ['hexadecimal', bytes.toString('hex')],
    ['upper-case hexadecimal', bytes.toString('hex').toUpperCase()],
    ...[0, 1, 2].flatMap((offset): [string, string][] => [
      [`base64 at offset ${offset}`, base64At(bytes, offset, 'base64')],
      [`base64url at offset ${offset}`, base64At(bytes, offset, 'base64url')],
    ]),
    ['percent-encoding', encodeURIComponent(text)],
    ['percent-encoding of all bytes', [...bytes].map(percent).join('')],
    ['JSON', JSON.stringify(text).slice(1, -1)],
    ['JSON escapes', units.map((unit) => `\\u${hex(unit)}`).join('')],
    ['quoted-printable', [...bytes].map((each) => percent(each).replace('%', '=')).join('')],
    ['HTML entities', [...text].map((each) => `&#${each.codePointAt(0)};`).join('')],
    ['reversed', [...text].reverse().join('')],
    ['SHA-256', createHash('sha256').update(text).digest()],
    ['SHA-256 in hexadecimal', createHash('sha256').update(text).digest('hex')],
    ['SHA-256 in base64url', createHash('sha256').update(text).digest('base64url')],
    ['MD5', createHash('md5').update(text).digest('hex')],
  ];
  return new Map(encodings.map(([name, encoded]) => [name, Buffer.from(encoded)]));
}

/** Returns the characters that depend only on the text, if the text begins at `offset` within three bytes. */
function base64At(bytes: Buffer, offset: number, encoding: 'base64' | 'base64url'): string {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
  const whole = padded.subarray(0, padded.length - (padded.length % 3));
  return whole.toString(encoding).slice(offset === 0 ? 0 : 4);
}

/** Returns the names of the encodings that occur in a content. */
export function findEncodings(content: Buffer, encodings: ReadonlyMap<string, Buffer>): string[] {
  return [...encodings].filter(([, encoded]) => content.includes(encoded)).map(([name]) => name);
}

/** Searches all columns in all tables, and returns the places with the encodings that occur there. */
export async function foundInTables(
  service: Service,
  encodings: ReadonlyMap<string, Buffer>,
): Promise<string[]> {
  const found: string[] = [];
  const columns = await service.query(
    `SELECT table_name::text AS table, column_name::text AS column, data_type::text AS type FROM information_schema.columns
     WHERE table_schema IN ('public', 'drizzle') AND table_name IN (SELECT tablename FROM pg_tables) ORDER BY 1, 2`,
  );
  for (const { table, column, type } of columns) {
    const name = table === '__drizzle_migrations' ? `drizzle."${table}"` : `"${table}"`;
    const bytes = type === 'bytea' ? `"${column}"` : `convert_to("${column}"::text, 'UTF8')`;
    const rows = await service.query(
      `SELECT encode(${bytes}, 'hex') AS value FROM ${name} WHERE "${column}" IS NOT NULL`,
    );
    for (const { value } of rows) {
      const names = findEncodings(Buffer.from(String(value), 'hex'), encodings);
      if (names.length > 0) found.push(`${table}.${column}: ${names.join(', ')}`);
    }
  }
  return [...new Set(found)].sort();
}
