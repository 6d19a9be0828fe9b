import { ServiceError } from '../errors/errors.ts';

/** Maximum depth of nested arrays and objects in a body. A block in an array needs 4 levels. */
export const MAX_JSON_DEPTH = 32;

/**
 * Maximum number of object members and array items in a body. The limit is 128 for each of the 32 `tool_use` blocks
 * that a request may contain.
 */
export const MAX_JSON_VALUES = 4096;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Number of characters to read one by one after an escaped quote, because more escapes probably follow. */
const ESCAPED_CHARACTERS = 1024;

/**
 * Returns the limit that a JSON text exceeds, from its brackets and commas. A full parse could be slow (`JSON.parse`
 * with many keys) or overflow the stack (recursion over many levels). Invalid JSON may pass.
 */
export function exceededJsonLimit(json: string): 'levels' | 'values' | undefined {
  let depth = 0;
  let values = 0;
  for (let i = 0; i < json.length; i++) {
    switch (json.charCodeAt(i)) {
      case QUOTE:
        i = findStringEnd(json, i + 1);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > MAX_JSON_DEPTH) return 'levels';
        // Values are counted by their commas, and the first value in an array or object has no comma before it.
        if (++values > MAX_JSON_VALUES) return 'values';
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      case 0x2c: // ,
        if (++values > MAX_JSON_VALUES) return 'values';
        break;
    }
  }
  return undefined;
}

/** Returns the offset of the quote that ends the string. The string's text starts at `from`. */
export function findStringEnd(json: string, from: number): number {
  for (let start = from; ; ) {
    const quote = json.indexOf('"', start);
    if (quote === -1) return json.length;
    // An odd number of backslashes before a quote escapes the quote.
    let backslashes = 0;
    while (quote - backslashes > start && json.charCodeAt(quote - backslashes - 1) === BACKSLASH)
      backslashes++;
    if (backslashes % 2 === 0) return quote;
    // A search for each of millions of quotes would take much longer than reading the characters.
    const end = quote + ESCAPED_CHARACTERS;
    for (start = quote + 1; start < end; start++) {
      const code = json.charCodeAt(start);
      if (code === QUOTE) return start;
      if (code === BACKSLASH) start++;
    }
  }
}

export function tooComplex(excess: 'levels' | 'values'): ServiceError {
  return new ServiceError('json_too_complex', excess, excess === 'levels' ? MAX_JSON_DEPTH : MAX_JSON_VALUES);
}

/** Replaces the input of a `tool_use` block that exceeds a JSON limit. */
export class TooComplexInput {
  readonly excess: 'levels' | 'values';

  constructor(excess: 'levels' | 'values') {
    this.excess = excess;
  }
}

/** A longer array is rejected as a whole, so the limits do not have to hold for its items. */
const MAX_BLOCKS = 32;
const MARK = /["[\]{},]/g;
/** Maximum number of marks to read, which limits the time that one request occupies the event loop. */
const MAX_MARKS = MAX_BLOCKS * MAX_JSON_VALUES;
const HEAD_MEMBER = /\s*"(?:type|id|name)"\s*:/y;

/**
 * Parses a JSON text that exceeds the limits: a `tool_use` block, or an array of blocks. A block that exceeds the
 * limits is parsed without its input. Values are counted in block order, except in blocks that exceed the limits.
 *
 * @returns undefined if the text is neither a block nor an array of blocks, or its brackets do not match
 */
export function parseBlocks(json: string): unknown {
  const isArray = json.trimStart().startsWith('[');
  const parts = splitJson(isArray ? json.trim() : `[${json}]`);
  if (parts === undefined || parts.length > MAX_BLOCKS) return undefined;
  let values = 0;
  const blocks: unknown[] = [];
  for (const part of parts) {
    let excess: TooComplexInput['excess'] | undefined;
    if (part.depth + (isArray ? 1 : 0) > MAX_JSON_DEPTH) excess = 'levels';
    else if (values + part.values > MAX_JSON_VALUES) excess = 'values';
    else values += part.values;
    const block = excess === undefined ? parse(part.text) : parseHead(part.text, excess);
    if (block === undefined) return undefined;
    blocks.push(block);
  }
  return isArray ? blocks : blocks[0];
}

/** Parses a block's type, ID, and name, and replaces its input with `TooComplexInput`. */
function parseHead(text: string, excess: TooComplexInput['excess']): object | undefined {
  const members = text.startsWith('{') ? splitJson(text, HEAD_MEMBER) : undefined;
  const head = members?.filter(({ depth }) => depth === 0).map((member) => member.text);
  const block = head && parse(`{${head.join(',')}}`);
  if (!isToolUse(block)) return undefined;
  return { ...block, input: new TooComplexInput(excess) };
}

function isToolUse(block: unknown): block is object {
  return typeof block === 'object' && block !== null && 'type' in block && block.type === 'tool_use';
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

interface Part {
  text: string;
  /** Depth of the nested arrays and objects in the part. */
  depth: number;
  /** Number of object members and array items in the part, including the part itself. */
  values: number;
}

/**
 * Splits an array into its items, or an object into its members. Like `exceededJsonLimit`, the function reads only
 * brackets, commas, and quotes.
 *
 * @param wanted matches the start of the members to return; by default, all are returned
 * @returns undefined if the brackets do not match, or if there are too many items or brackets
 */
function splitJson(json: string, wanted?: RegExp): Part[] | undefined {
  const parts: Part[] = [];
  let level = 0;
  let start = 1;
  let depth = 0;
  let values = 1;
  const endPart = (end: number) => {
    if (wanted) wanted.lastIndex = start;
    if (!wanted || wanted.test(json)) parts.push({ text: json.slice(start, end).trim(), depth, values });
    start = end + 1;
    depth = 0;
    values = 1;
  };
  const mark = new RegExp(MARK);
  for (let marks = 0; marks <= MAX_MARKS; marks++) {
    const found = mark.exec(json);
    if (found === null) return undefined;
    const { index } = found;
    switch (found[0]) {
      case '"':
        mark.lastIndex = findStringEnd(json, index + 1) + 1;
        break;
      case '[':
      case '{':
        if (level > 0) values++;
        depth = Math.max(depth, level++);
        break;
      case ']':
      case '}':
        if (--level > 0) break;
        endPart(index);
        return json.slice(index + 1).trim() === '' ? parts : undefined;
      case ',':
        if (level > 1) values++;
        else endPart(index);
        if (parts.length > MAX_BLOCKS) return undefined;
        break;
    }
  }
  return undefined;
}
