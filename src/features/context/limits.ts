/** Smallest limit on a snapshot, in UTF-16 units. */
export const MIN_CHARS = 1000;
