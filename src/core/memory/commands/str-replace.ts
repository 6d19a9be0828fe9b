import { z } from 'zod';
import {
  emptyOldStr,
  invalidPath,
  noOccurrence,
  occurrencesTruncated,
  replaced,
  replaceMissing,
  severalOccurrences,
  snippetLineCut,
  snippetTruncated,
} from '../messages.ts';
import { showLines } from '../numbered-lines.ts';
import { parsePath } from '../path.ts';
import { failure } from '../result.ts';
import { type Change, changeSnippet, findOccurrences, lineNumbersAt, splice } from '../text-changes.ts';
import { editFile } from './edit.ts';
import { defineCommand, pathField, textField } from './memory-command.ts';

export const strReplace = defineCommand({
  name: 'str_replace',
  description: 'Replaces a text that occurs exactly once in a file.',
  access: 'write',
  definition: {
    use: 'Replaces text in a file. `old_str` must match exactly one place in it. Without `new_str`, the text is deleted.',
    fields: { old_str: 'the text to replace.', new_str: 'the text to put in its place.' },
  },
  schema: z.object({
    command: z.literal('str_replace'),
    path: pathField('The file to edit.', '/memories/preferences.txt'),
    old_str: textField(
      'The text to replace, verbatim; it must occur exactly once and may span lines.',
      'Favorite color: blue',
    ),
    new_str: textField('The replacement. Omit it to delete `old_str`.', 'Favorite color: green').nullish(),
  }),
  async run({ path: given, old_str: oldStr, new_str: newStr }, context) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(invalidPath(parsed.problem));
    if (oldStr === '') return failure(emptyOldStr);
    const { path } = parsed;
    const { maxViewChars: maxChars } = context.limits;
    const change = (content: string) => {
      const offsets = findOccurrences(oldStr, content, maxOccurrencesShown(maxChars) + 1);
      const offset = offsets[0];
      if (offset === undefined) return noOccurrence(oldStr, path);
      if (offsets.length > 1) return listOccurrences(oldStr, lineNumbersAt(content, offsets), maxChars);
      return splice(content, offset, oldStr.length, newStr ?? '');
    };
    const describe = (written: Change) => showChange(written, maxChars);
    return editFile(path, { change, describe, missing: replaceMissing(path) }, context);
  },
});

/** Formats the snippet for a change, with at most `maxChars` UTF-16 units (0 means no limit). */
function showChange(change: Change, maxChars: number): string {
  const { lines, first } = changeSnippet(change);
  const end = first + lines.length - 1;
  const show = {
    header: replaced,
    lines,
    start: first,
    end,
    hasMore: first < end,
    truncated: (last: number) => snippetTruncated(first, last, end),
    cut: (shown: number, length: number) => snippetLineCut(first, shown, length, end),
  };
  return showLines(show, maxChars).text;
}

/** Upper bound without a limit on characters, so that a list never takes long to build. */
const MAX_OCCURRENCES = 100_000;

/** Returns an upper bound for the occurrences that fit: each takes at least a digit, a comma, and a space. */
function maxOccurrencesShown(maxChars: number): number {
  return maxChars > 0 ? Math.min(Math.max(2, Math.floor(maxChars / 3)), MAX_OCCURRENCES) : MAX_OCCURRENCES;
}

/** @param lines line numbers of all occurrences, or of more occurrences than fit */
function listOccurrences(oldStr: string, lines: readonly number[], maxChars: number): string {
  const whole = severalOccurrences(oldStr, lines);
  const room = maxChars > 0 ? maxChars : Number.POSITIVE_INFINITY;
  if (whole.length <= room && lines.length <= maxOccurrencesShown(maxChars)) return whole;
  const hint = (shown: number) => `\n${occurrencesTruncated(shown)}`;
  let left = whole.length - room + hint(lines.length).length;
  let shown = lines.length;
  while (shown > 1 && (left > 0 || shown === lines.length)) {
    shown--;
    left -= `, ${lines[shown]}`.length;
  }
  return severalOccurrences(oldStr, lines.slice(0, shown)) + hint(shown);
}
