import { z } from 'zod';

/** Text that Postgres can hold. */
export const storableText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'it has to be Unicode without U+0000');
