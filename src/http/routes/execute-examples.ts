/**
 * One conversation as requests and responses, in an order in which each of them succeeds on an empty memory: the
 * examples of the OpenAPI document, which a test replays.
 */
export interface Example {
  summary: string;
  request: object;
  response: ExampleResponse | ExampleResponse[];
}

interface ExampleResponse {
  type?: string;
  tool_use_id?: string;
  content: string;
  is_error: boolean;
}

const ok = (content: string) => ({ content, is_error: false });

export const examples: Record<string, Example> = {
  view_directory: {
    summary: 'view: look at the memory directory',
    request: { command: 'view', path: '/memories' },
    response: ok(
      "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories",
    ),
  },
  create: {
    summary: 'create: make a new file',
    request: {
      command: 'create',
      path: '/memories/preferences.txt',
      file_text: 'Name: Ada\nFavorite color: blue\n',
    },
    response: ok('File created successfully at: /memories/preferences.txt'),
  },
  view_file: {
    summary: 'view: read lines of a file',
    request: { command: 'view', path: '/memories/preferences.txt', view_range: [1, 2] },
    response: ok(
      "Here's the content of /memories/preferences.txt with line numbers:\n     1\tName: Ada\n     2\tFavorite color: blue",
    ),
  },
  str_replace: {
    summary: 'str_replace: replace a text that occurs once',
    request: {
      command: 'str_replace',
      path: '/memories/preferences.txt',
      old_str: 'Favorite color: blue',
      new_str: 'Favorite color: green',
    },
    response: ok(
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tName: Ada\n     2\tFavorite color: green\n     3\t',
    ),
  },
  insert: {
    summary: 'insert: put lines in after a line',
    request: {
      command: 'insert',
      path: '/memories/preferences.txt',
      insert_line: 2,
      insert_text: 'Favorite food: figs\n',
    },
    response: ok('The file /memories/preferences.txt has been edited.'),
  },
  rename: {
    summary: 'rename: move a file or directory',
    request: {
      command: 'rename',
      old_path: '/memories/preferences.txt',
      new_path: '/memories/people/ada.txt',
    },
    response: ok('Successfully renamed /memories/preferences.txt to /memories/people/ada.txt'),
  },
  tool_use_block: {
    summary: 'A whole tool_use block; the result goes into the next message unchanged',
    request: {
      type: 'tool_use',
      id: 'toolu_01C4D5E6F7G8H9I0J1K2L3M4',
      name: 'memory',
      input: { command: 'view', path: '/memories/people/ada.txt' },
    },
    response: {
      type: 'tool_result',
      tool_use_id: 'toolu_01C4D5E6F7G8H9I0J1K2L3M4',
      ...ok(
        "Here's the content of /memories/people/ada.txt with line numbers:\n     1\tName: Ada\n     2\tFavorite color: green\n     3\tFavorite food: figs\n     4\t",
      ),
    },
  },
  array: {
    summary: 'Several tool_use blocks of one turn, which run in their order',
    request: [
      {
        type: 'tool_use',
        id: 'toolu_01D5E6F7G8H9I0J1K2L3M4N5',
        name: 'memory',
        input: { command: 'create', path: '/memories/people/grace.txt', file_text: 'Name: Grace' },
      },
      {
        type: 'tool_use',
        id: 'toolu_01E6F7G8H9I0J1K2L3M4N5O6',
        name: 'memory',
        input: { command: 'view', path: '/memories/people/grace.txt' },
      },
    ],
    response: [
      {
        type: 'tool_result',
        tool_use_id: 'toolu_01D5E6F7G8H9I0J1K2L3M4N5',
        ...ok('File created successfully at: /memories/people/grace.txt'),
      },
      {
        type: 'tool_result',
        tool_use_id: 'toolu_01E6F7G8H9I0J1K2L3M4N5O6',
        ...ok("Here's the content of /memories/people/grace.txt with line numbers:\n     1\tName: Grace"),
      },
    ],
  },
  delete: {
    summary: 'delete: remove a file, or a directory with everything in it',
    request: { command: 'delete', path: '/memories/people' },
    response: ok('Successfully deleted /memories/people'),
  },
  failure: {
    summary: 'An error that the model can read and correct',
    request: { command: 'view', path: '/memories/missing.txt' },
    response: {
      content: 'The path /memories/missing.txt does not exist. Please provide a valid path.',
      is_error: true,
    },
  },
};
