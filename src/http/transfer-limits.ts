/** Bytes of a body or response that must be transferred in each `TRANSFER_TIMEOUT_MS`, unless fewer are left. */
export const MIN_TRANSFER_BYTES = 64 * 1024;

/** Bytes that every request counts at least, for its headers, objects, and a small body. This bounds how many bodies are read at once. */
export const REQUEST_BYTES = 16 * 1024;
