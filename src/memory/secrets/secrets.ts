/** The position of a secret in a text (UTF-16 offsets, `end` exclusive) and its kind; never its value. */
export interface Secret {
  /** A stable lower_snake_case name that a model can read, such as `aws_access_key`. */
  kind: string;
  start: number;
  end: number;
}

/** Finds secrets. The domain does not know which library implements it. */
export interface SecretScanner {
  /**
   * The secrets in `text`, sorted by `start` and not overlapping. A placeholder that `mask` left is no secret, and
   * `scan(mask(text, await scan(text)))` finds nothing.
   */
  scan(text: string): Promise<Secret[]>;
}

/** The placeholder that replaces a secret. */
export function placeholder(kind: string): string {
  return `[REDACTED:${kind}]`;
}

/**
 * Replaces each secret in `text` by its placeholder. `secrets` must be sorted and not overlap, as `scan` returns
 * them.
 */
export function mask(text: string, secrets: readonly Secret[]): string {
  let masked = '';
  let from = 0;
  for (const { kind, start, end } of secrets) {
    masked += text.slice(from, start) + placeholder(kind);
    from = end;
  }
  return masked + text.slice(from);
}
