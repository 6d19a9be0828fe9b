import { z } from 'zod';
import { insertedMessage, invalidInsertLine, invalidPath, missingMessage } from '../messages.ts';
import { parsePath } from '../path.ts';
import { failure } from '../result.ts';
import { countLines, insertLines } from '../text-changes.ts';
import { editFile } from './edit.ts';
import { defineCommand, integerField, pathField, textField } from './memory-command.ts';

export const insert = defineCommand({
  name: 'insert',
  description: 'Puts lines into a file after a given line.',
  access: 'write',
  definition: {
    use: 'Inserts text into a file after line `insert_line`; 0 is the start of the file.',
    fields: { insert_line: 'the line after which the text goes in.', insert_text: 'the text.' },
  },
  schema: z.object({
    command: z.literal('insert'),
    path: pathField('The file to edit.', '/memories/todo.txt'),
    insert_line: integerField('The line after which the text goes in; 0 is the start of the file.', 2),
    insert_text: textField(
      'The text. One trailing newline is dropped, then the text is inserted as separate lines.',
      '- Review memory tool documentation\n',
    ),
  }),
  async run({ path: given, insert_line: line, insert_text: text }, context) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(invalidPath(parsed.problem));
    const { path } = parsed;
    const lines = text.replace(/\n$/, '');
    const change = (content: string) => {
      const lineCount = countLines(content);
      if (line < 0 || line > lineCount) return invalidInsertLine(line, lineCount);
      return insertLines(content, line, lines);
    };
    return editFile(
      path,
      { change, describe: () => insertedMessage(path), missing: missingMessage(path) },
      context,
    );
  },
});
