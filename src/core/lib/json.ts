import { pauseAfterSlice } from './time-slice.ts';

/** Maximum number of bytes for one UTF-16 code unit in JSON: a control character is `\u0001`. */
export const MAX_JSON_BYTES_OF_UNIT = 6;

/** Control characters with a two-byte escape in JSON. */
const SHORT_ESCAPES = new Set([...'\b\t\n\f\r'].map((character) => character.charCodeAt(0)));

/** Number of bytes for each ASCII character in JSON. */
const ASCII_BYTES = Uint8Array.from({ length: 0x80 }, (_, code) => {
  if (code < 0x20) return SHORT_ESCAPES.has(code) ? 2 : MAX_JSON_BYTES_OF_UNIT;
  return code === 0x22 || code === 0x5c ? 2 : 1;
});

/** Returns the data's size as JSON in UTF-8, without creating the JSON. */
export function jsonBytes(data: unknown): number {
  if (typeof data === 'string') return textBytes(data);
  if (Array.isArray(data)) {
    let bytes = 2 + Math.max(0, data.length - 1);
    for (const item of data) bytes += item === undefined ? 4 : jsonBytes(item);
    return bytes;
  }
  if (typeof data !== 'object' || data === null) return String(data).length;
  let bytes = 1;
  // Each field has a colon, and a comma or the closing brace.
  for (const [name, value] of Object.entries(data))
    if (value !== undefined) bytes += textBytes(name) + jsonBytes(value) + 2;
  return Math.max(2, bytes);
}

function textBytes(text: string): number {
  let bytes = 2;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) bytes += ASCII_BYTES[code] ?? 0;
    else if (code < 0x800) bytes += 2;
    else if (code < 0xd800 || code > 0xdfff) bytes += 3;
    else if (code < 0xdc00 && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 4;
      i++;
    } else bytes += MAX_JSON_BYTES_OF_UNIT;
  }
  return bytes;
}

/** Whether a code unit is a low surrogate. After a text's end, the code is NaN and the result is false. */
function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** Number of a text's characters to encode in one step. */
const PART_CHARACTERS = 64 * 1024;

/** Encodes data like `JSON.stringify`, as UTF-8 and in time slices. */
export async function jsonInSlices(data: unknown): Promise<Buffer> {
  const parts: Buffer[] = [];
  let text = '';
  for (const piece of jsonPieces(data)) {
    text += piece;
    if (text.length < PART_CHARACTERS) continue;
    parts.push(Buffer.from(text));
    text = '';
    await pauseAfterSlice();
  }
  parts.push(Buffer.from(text));
  return Buffer.concat(parts);
}

function* jsonPieces(data: unknown): Generator<string> {
  if (typeof data === 'string') yield* textPieces(data);
  else if (typeof data !== 'object' || data === null || 'toJSON' in data)
    yield JSON.stringify(data) ?? 'null';
  else if (Array.isArray(data)) yield* arrayPieces(data);
  else yield* objectPieces(data);
}

function* textPieces(text: string): Generator<string> {
  if (text.length <= PART_CHARACTERS) {
    yield JSON.stringify(text);
    return;
  }
  yield '"';
  for (let from = 0; from < text.length; ) {
    let to = from + PART_CHARACTERS;
    // A surrogate pair must not be split, because each half alone would be escaped.
    if (isHighSurrogate(text.charCodeAt(to - 1))) to++;
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
  }
  yield '"';
}

function* arrayPieces(items: readonly unknown[]): Generator<string> {
  let separator = '[';
  for (const item of items) {
    yield separator;
    yield* jsonPieces(item);
    separator = ',';
  }
  yield items.length === 0 ? '[]' : ']';
}

function* objectPieces(data: object): Generator<string> {
  let isEmpty = true;
  for (const [name, value] of Object.entries(data)) {
    if (value === undefined) continue;
    yield `${isEmpty ? '{' : ','}${JSON.stringify(name)}:`;
    yield* jsonPieces(value);
    isEmpty = false;
  }
  yield isEmpty ? '{}' : '}';
}

/** Whether a code unit is a high surrogate. After a text's end, the code is NaN and the result is false. */
function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
