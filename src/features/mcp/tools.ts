import type { Tool } from '@modelcontextprotocol/server';

const MEMORY_DESCRIPTION = `Stores information across conversations in text files under /memories, and reads it back. All paths start with /memories.

Commands:
- \`view\` (path, view_range): Shows a directory or a file. A directory is listed up to 2 levels deep, one entry per line: its size, a tab, and its path, which ends in / for a directory. Hidden items and node_modules are left out. A file is shown with line numbers, starting at 1; \`view_range\` selects lines of it. A long result is cut at the end of a line, and its last line says how to read the rest.
- \`create\` (path, file_text): Creates a file, and the directories above it. Use str_replace or insert to change a file that exists.
- \`str_replace\` (path, old_str, new_str): Replaces text in a file. \`old_str\` must match exactly one place in it. Without \`new_str\`, the text is deleted.
- \`insert\` (path, insert_line, insert_text): Inserts text into a file after line \`insert_line\`; 0 is the start of the file.
- \`delete\` (path): Deletes a file, or a directory with everything in it.
- \`rename\` (old_path, new_path): Renames or moves a file or directory. An existing destination is not overwritten.`;

/**
 * The memory tool. Its schema is one flat object, because the Claude API rejects `oneOf` at the top of a tool's schema.
 * Only `command` is required, because the service checks the input and returns messages for the model.
 */
export const MEMORY_TOOL: Tool = {
  name: 'memory',
  title: 'Memory',
  description: MEMORY_DESCRIPTION,
  inputSchema: {
    type: 'object',
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
  annotations: {
    title: 'Memory',
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: false,
  },
  // Otherwise, Claude Code omits the tool from the prompt until the model searches for it.
  _meta: { 'anthropic/alwaysLoad': true },
};

const SEARCH_DESCRIPTION = `Searches the files of your memory, all of /memories, and shows where something is: each result is path:line: text. Use it to find what was written down before, and view or edit the file that it names. A memory directory shows only two levels; this finds files at any depth.

- Start with mode words (the default) and the few words that the file must contain: names, topics, error codes. Not a whole question. The best files come first; case, accents and simple endings do not matter.
- Use mode literal for an exact text, and mode regex (RE2 syntax, line by line) for a pattern. Both are case-sensitive.
- When nothing is found, try other words for the same thing before you conclude that it is not there.`;

/** The search tool. The clients use the same descriptions. */
export const SEARCH_TOOL: Tool = {
  name: 'memory_search',
  title: 'Search memory',
  description: SEARCH_DESCRIPTION,
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'The text or pattern to search for.' },
      mode: {
        type: 'string',
        enum: ['words', 'literal', 'regex'],
        description: 'How to look for it: words by default.',
      },
      path: {
        type: 'string',
        description: 'The directory or file to search, like /memories/projects. All of /memories by default.',
      },
      max_results: {
        type: 'integer',
        description: 'The most lines to show, from 1 to 100: 20 by default.',
      },
    },
    required: ['query'],
  },
  annotations: { title: 'Search memory', readOnlyHint: true, openWorldHint: false },
  _meta: { 'anthropic/alwaysLoad': true },
};

export const TOOLS: readonly Tool[] = [MEMORY_TOOL, SEARCH_TOOL];
