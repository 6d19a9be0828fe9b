/** What a body or an answer has to move within each `TRANSFER_TIMEOUT_MS`, unless less is left. */
export const MIN_TRANSFER_BYTES = 64 * 1024;
