import { z } from 'zod';
import { MIN_CHARS } from './limits.ts';

const WHOLE_NUMBER = `must be a whole number from ${MIN_CHARS}`;

export const contextQuerySchema = z.object({
  since: z
    .string('must be one version from an earlier response')
    .optional()
    .meta({ description: 'A `version` from an earlier response. An unknown one yields the whole snapshot.' }),
  max_chars: z
    .preprocess(
      (given) => (typeof given === 'string' && /^\d{1,16}$/.test(given) ? Number(given) : given),
      z.int(WHOLE_NUMBER).min(MIN_CHARS, WHOLE_NUMBER),
    )
    .optional()
    .meta({
      description: `Maximum length of the snapshot, in characters. The default and the maximum are the tenant's \`max_context_chars\` and \`max_view_chars\`.`,
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

/** Texts for an agent before its first token. */
export type Context = z.infer<typeof contextSchema>;
