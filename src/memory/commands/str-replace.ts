import { z } from 'zod';
import { emptyOldStr, noOccurrence, replaced, replaceMissing, severalOccurrences } from '../messages.ts';
import { type MemoryPath, parsePath } from '../path.ts';
import { failure } from '../result.ts';
import type { Edit } from '../store.ts';
import { countLines, linesOfOffsets, occurrencesOf, snippet } from '../text.ts';
import { defineCommand, type MemoryLimits, pathField, textField } from './command.ts';
import { editWithinLimits } from './edit.ts';
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
  async execute({ path: given, old_str: oldStr, new_str: newStr }, { store, limits }) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(parsed.refusal);
    if (oldStr === '') return failure(emptyOldStr);
    const { path } = parsed;
    const outcome = await store.edit(path, (content) => replace(path, content, oldStr, newStr ?? '', limits));
    if (outcome.kind === 'missing') return failure(replaceMissing(path));
    return outcome.kind === 'over_quota' ? overQuota(outcome) : outcome.result;
  },
});

function replace(
  path: MemoryPath,
  content: string,
  oldStr: string,
  newStr: string,
  limits: MemoryLimits,
): Edit {
  const offsets = occurrencesOf(oldStr, content);
  const offset = offsets[0];
  if (offset === undefined) return { result: failure(noOccurrence(oldStr, path)) };
  const lines = linesOfOffsets(content, offsets);
  if (offsets.length > 1) return { result: failure(severalOccurrences(oldStr, lines)) };
  const edited = content.slice(0, offset) + newStr + content.slice(offset + oldStr.length);
  const firstLine = lines[0] ?? 1;
  const changed = snippet(edited, firstLine, firstLine + countLines(newStr) - 1);
  return editWithinLimits(path, content, edited, replaced(changed), limits);
}
