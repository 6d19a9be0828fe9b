/** A secret in a text: where it is, in UTF-16 offsets (`end` exclusive), and what it is, never what it says. */
export interface Secret {
  /** A stable lower_snake_case name that a model can read, such as `aws_access_key`. */
  kind: string;
  start: number;
  end: number;
}

/** The port to whatever finds secrets; the domain does not know which library does. */
export interface SecretScanner {
  /**
   * The secrets in `text`, sorted by `start` and not overlapping. A placeholder that `mask` left is no secret, and
   * `scan(mask(text, await scan(text)))` finds nothing.
   */
  scan(text: string): Promise<Secret[]>;
}

/** What stands where a secret was. */
export function placeholder(kind: string): string {
  return `[REDACTED:${kind}]`;
}

/** `text` with each secret replaced by its placeholder. `secrets` as `scan` returns them: sorted, not overlapping. */
export function mask(text: string, secrets: readonly Secret[]): string {
  let masked = '';
  let from = 0;
  for (const { kind, start, end } of secrets) {
    masked += text.slice(from, start) + placeholder(kind);
    from = end;
  }
  return masked + text.slice(from);
}
