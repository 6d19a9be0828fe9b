/** A secret's position in a text (UTF-16 offsets, `end` exclusive) and its kind. The value is not included. */
export interface Secret {
  /** A stable name in lower_snake_case that a model can read, such as `aws_access_key`. */
  kind: string;
  start: number;
  end: number;
}

/** A part of a text: UTF-16 offsets, `end` exclusive. */
export type Range = Pick<Secret, 'start' | 'end'>;

/** Finds secrets. Independent of the library that implements it. */
export interface SecretScanner {
  /**
   * Returns the secrets in `text`, sorted by `start` and without overlaps. A placeholder from `mask` is not a secret,
   * so `scan(mask(text, await scan(text)))` is empty.
   *
   * @param near only secrets that touch this range are needed; the default is the whole text
   */
  scan(text: string, near?: Range): Promise<Secret[]>;
}

/** Handling of secrets in written text. */
export interface Redaction {
  mode: 'mask' | 'reject';
  scanner: SecretScanner;
}

/** Returns the placeholder that replaces a secret. */
export function placeholder(kind: string): string {
  return `[REDACTED:${kind}]`;
}

/**
 * Replaces each secret in `text` with its placeholder. `secrets` must be sorted and without overlaps, as returned by
 * `scan`.
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
