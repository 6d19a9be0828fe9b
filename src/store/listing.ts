/* What the statements that list a directory are made of, in terms of an entry's columns. */

export const VISIBLE =
  "NOT starts_with(path, parent_path || '/.') AND path <> parent_path || '/node_modules'";

/** A `/` sorts before every character that a name can hold once it is written as U+0001. */
export const DEPTH_FIRST = `replace(path, '/', E'\\x01') COLLATE "C"`;

/** The path and, of a file, a tab and its bytes. */
export const LINE = "concat_ws(E'\\t', path, size_bytes)";
