/*
 * Conditions on a row `t` of tenants, of which a limit of 0 is none. Parameters are expressions: what is to be added, and the
 * service's defaults.
 */

/** Whether there is room for so many more bytes. */
export const roomForBytes = (bytes: string, maxBytes: string) =>
  `(COALESCE(t.max_bytes, ${maxBytes}) = 0 OR t.byte_count + ${bytes} <= COALESCE(t.max_bytes, ${maxBytes}))`;

/** Whether there is room for one more file with so many bytes. */
export const roomForFile = (bytes: string, maxFiles: string, maxBytes: string) =>
  `(COALESCE(t.max_files, ${maxFiles}) = 0 OR t.file_count < COALESCE(t.max_files, ${maxFiles}))
     AND ${roomForBytes(bytes, maxBytes)}`;
