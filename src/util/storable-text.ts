import { z } from 'zod';

/** Text that Postgres can hold. */
export const storableText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be Unicode text without U+0000');
