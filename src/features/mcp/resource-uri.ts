const SCHEME = 'memory://';

/** Returns a file's URI, such as `memory:///memories/notes.md`. */
export function toUri(path: string): string {
  return `${SCHEME}${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** Returns the path in a file's URI, or undefined for any other text. */
export function parseUri(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !uri.startsWith(`${SCHEME}/memories/`) || !URL.canParse(uri))
    return undefined;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return undefined;
  }
}
