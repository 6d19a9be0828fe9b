/** Maximum size of a batch or page. A single file may have more bytes. */
export const BATCH = { rows: 500, bytes: 4 * 1024 * 1024 } as const;
