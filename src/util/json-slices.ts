import { endOfSlice } from './time-slice.ts';

/** Characters of a text that are encoded at once. */
const PART_CHARACTERS = 64 * 1024;

/** Encodes data as `JSON.stringify` does, as UTF-8, in time slices. */
export async function jsonInSlices(data: unknown): Promise<Buffer> {
  const parts: Buffer[] = [];
  let text = '';
  for (const piece of piecesOf(data)) {
    text += piece;
    if (text.length < PART_CHARACTERS) continue;
    parts.push(Buffer.from(text));
    text = '';
    await endOfSlice();
  }
  parts.push(Buffer.from(text));
  return Buffer.concat(parts);
}

function* piecesOf(data: unknown): Generator<string> {
  if (typeof data === 'string') yield* piecesOfText(data);
  else if (typeof data !== 'object' || data === null || 'toJSON' in data)
    yield JSON.stringify(data) ?? 'null';
  else if (Array.isArray(data)) yield* piecesOfArray(data);
  else yield* piecesOfObject(data);
}

function* piecesOfText(text: string): Generator<string> {
  if (text.length <= PART_CHARACTERS) {
    yield JSON.stringify(text);
    return;
  }
  yield '"';
  for (let from = 0; from < text.length; ) {
    let to = from + PART_CHARACTERS;
    // A surrogate pair stays together: each half alone is escaped.
    if (isHighSurrogate(text.charCodeAt(to - 1))) to++;
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
  }
  yield '"';
}

function* piecesOfArray(items: readonly unknown[]): Generator<string> {
  let separator = '[';
  for (const item of items) {
    yield separator;
    yield* piecesOf(item);
    separator = ',';
  }
  yield items.length === 0 ? '[]' : ']';
}

function* piecesOfObject(data: object): Generator<string> {
  let isEmpty = true;
  for (const [name, value] of Object.entries(data)) {
    if (value === undefined) continue;
    yield `${isEmpty ? '{' : ','}${JSON.stringify(name)}:`;
    yield* piecesOf(value);
    isEmpty = false;
  }
  yield isEmpty ? '{}' : '}';
}

/** The code after the last one is NaN. */
function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
