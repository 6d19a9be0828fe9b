import { z } from 'zod';
import { MIN_CHARS } from './limits.ts';

export const contextQuerySchema = z.object({
  since: z
    .string('must be a version from an earlier response')
    .max(2048, 'must be a version from an earlier response')
    .optional()
    .meta({ description: 'A `version` from an earlier response. An unknown one yields the whole snapshot.' }),
  max_chars: z
    .string(`must be a whole number from ${MIN_CHARS}`)
    .regex(/^\d{1,15}$/, `must be a whole number from ${MIN_CHARS}`)
    .transform(Number)
    .refine((count) => count >= MIN_CHARS, `must be a whole number from ${MIN_CHARS}`)
    .optional()
    .meta({
      description: `Maximum length of the snapshot, from ${MIN_CHARS} characters. The default and the maximum are the tenant's \`max_context_chars\` and \`max_view_chars\`.`,
    }),
});

export const contextSchema = z
  .object({
    guidance: z.string().meta({
      description: 'For the system prompt. It changes only with settings, mounts, and the release.',
    }),
    snapshot: z
      .string()
      .nullable()
      .meta({ description: 'For the first message. Null if `changes` has the text to append.' }),
    changes: z.string().nullable().meta({
      description:
        'With `since`: the text to append to the conversation, empty if nothing changed. Null without `since`, or if the changes are not known; then append the whole `snapshot`.',
    }),
    version: z.string().meta({ description: 'The version to send as `since` next time.' }),
  })
  .meta({ id: 'Context', description: 'Texts for an agent before its first token.' });
