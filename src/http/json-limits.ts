import { ServiceError } from '../errors.ts';

/** How deep arrays and objects of a body may nest. A block in an array needs 4 levels. */
export const MAX_JSON_DEPTH = 32;

/** Maximum number of object members and array items in a body: 128 for each of the `tool_use` blocks that a request may have. */
export const MAX_JSON_VALUES = 4096;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Finds what a JSON text has too much of, by its brackets and commas. It does not parse the text, because `JSON.parse` is slow for many
 * keys, and recursion over its result overflows the stack for many levels. Text that is not JSON may pass.
 */
export function exceededJsonLimit(json: string): 'levels' | 'values' | undefined {
  let depth = 0;
  let values = 0;
  for (let i = 0; i < json.length; i++) {
    switch (json.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(json, i + 1);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > MAX_JSON_DEPTH) return 'levels';
        // The first value has no comma.
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

/** Returns the offset of the quote that ends the string whose text starts at `from`. */
export function endOfString(json: string, from: number): number {
  for (let start = from; ; ) {
    const quote = json.indexOf('"', start);
    if (quote === -1) return json.length;
    // The quote is escaped when the number of backslashes before it is odd.
    let backslashes = 0;
    while (quote - backslashes > start && json.charCodeAt(quote - backslashes - 1) === BACKSLASH)
      backslashes++;
    if (backslashes % 2 === 0) return quote;
    start = quote + 1;
  }
}

export function tooComplex(excess: 'levels' | 'values'): ServiceError {
  return new ServiceError('json_too_complex', excess, excess === 'levels' ? MAX_JSON_DEPTH : MAX_JSON_VALUES);
}
