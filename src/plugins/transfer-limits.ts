/** What a body or an answer has to move within each `TRANSFER_TIMEOUT_MS`, unless less is left. */
export const MIN_TRANSFER_BYTES = 64 * 1024;

/** What each request counts for at least: its headers, its objects, and a small body. Bounds how many bodies are read at once. */
export const REQUEST_BYTES = 16 * 1024;
