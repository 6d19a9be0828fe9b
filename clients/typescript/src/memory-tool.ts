const DESCRIPTION = `Stores information across conversations in text files under /memories, and reads it back. All paths start with /memories.

Commands:
- \`view\` (path, view_range): Shows a directory or a file. A directory is listed up to 2 levels deep, one entry per line: its size, a tab, and its path, which ends in / for a directory. Hidden items and node_modules are left out. A file is shown with line numbers, starting at 1; \`view_range\` selects lines of it. A long result is cut at the end of a line, and its last line says how to read the rest.
- \`create\` (path, file_text): Creates a file, and the directories above it. Use str_replace or insert to change a file that exists.
- \`str_replace\` (path, old_str, new_str): Replaces text in a file. \`old_str\` must match exactly one place in it. Without \`new_str\`, the text is deleted.
- \`insert\` (path, insert_line, insert_text): Inserts text into a file after line \`insert_line\`; 0 is the start of the file.
- \`delete\` (path): Deletes a file, or a directory with everything in it.
- \`rename\` (old_path, new_path): Renames or moves a file or directory. An existing destination is not overwritten.`;

/**
 * The memory tool as a function, for models of other providers. Claude has its own definition of the tool, `{ type:
 * 'memory_20250818', name: 'memory' }`.
 */
export const MEMORY_FUNCTION_TOOL = {
  name: 'memory',
  description: DESCRIPTION,
  input_schema: {
    type: 'object' as const,
    properties: {
      command: {
        type: 'string',
        enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'],
        description: 'The command to run.',
      },
      path: {
        type: 'string',
        description: 'The file or directory, like /memories/notes.txt. For every command but rename.',
      },
      view_range: {
        type: 'array',
        items: { type: 'integer' },
        minItems: 2,
        maxItems: 2,
        description:
          'For view: the first and last line to show, such as [11, 20]. -1 as the last is the end.',
      },
      file_text: { type: 'string', description: 'For create: the content of the file.' },
      old_str: { type: 'string', description: 'For str_replace: the text to replace.' },
      new_str: { type: 'string', description: 'For str_replace: the text to put in its place.' },
      insert_line: {
        type: 'integer',
        description: 'For insert: the line after which the text goes in.',
      },
      insert_text: { type: 'string', description: 'For insert: the text.' },
      old_path: { type: 'string', description: 'For rename: the path now.' },
      new_path: { type: 'string', description: 'For rename: the path afterward.' },
    },
    required: ['command'],
  },
};
