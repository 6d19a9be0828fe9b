/* SQL fragments of the queries that list a directory, in terms of an entry's columns. */

export const VISIBLE =
  "NOT starts_with(path, parent_path || '/.') AND path <> parent_path || '/node_modules'";

/** Sort key for depth-first order: as U+0001, `/` sorts before every character that a name can contain. */
export const DEPTH_FIRST = `replace(path, '/', E'\\x01') COLLATE "C"`;

/** An entry as text: the path and, for a file, a tab and its size in bytes. */
export const LINE = "concat_ws(E'\\t', path, size_bytes)";
