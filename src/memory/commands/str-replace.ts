import { z } from 'zod';
import { emptyOldStr, noOccurrence, replaced, replaceMissing, severalOccurrences } from '../messages.ts';
import { parsePath } from '../path.ts';
import { failure } from '../result.ts';
import { linesOfOffsets, occurrencesOf, snippetOf, splice } from '../text.ts';
import { defineCommand, pathField, textField } from './command.ts';
import { judgeChange } from './edit.ts';
import { overQuota } from './quota.ts';

export const strReplace = defineCommand({
  name: 'str_replace',
  description: 'Replaces a text that occurs exactly once in a file.',
  access: 'write',
  schema: z.object({
    command: z.literal('str_replace'),
    path: pathField('The file to edit.', '/memories/preferences.txt'),
    old_str: textField(
      'The text to replace, verbatim; it must occur exactly once and may span lines.',
      'Favorite color: blue',
    ),
    new_str: textField('What to put in its place; left out: nothing.', 'Favorite color: green').nullish(),
  }),
  async execute({ path: given, old_str: oldStr, new_str: newStr }, context) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(parsed.refusal);
    if (oldStr === '') return failure(emptyOldStr);
    const { path } = parsed;
    const change = async (content: string) => {
      const offsets = occurrencesOf(oldStr, content);
      const offset = offsets[0];
      if (offset === undefined) return { result: failure(noOccurrence(oldStr, path)) };
      if (offsets.length > 1) {
        return { result: failure(severalOccurrences(oldStr, linesOfOffsets(content, offsets))) };
      }
      const replacement = splice(content, offset, oldStr.length, newStr ?? '');
      return judgeChange(path, content, replacement, (written) => replaced(snippetOf(written)), context);
    };
    const outcome = await context.store.edit(path, change);
    if (outcome.kind === 'missing') return failure(replaceMissing(path));
    return outcome.kind === 'over_quota' ? overQuota(outcome) : outcome.result;
  },
});
