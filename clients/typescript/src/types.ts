/** Shows a directory two levels deep with sizes, or a file with line numbers. */
export interface ViewInput {
  readonly command: 'view';
  readonly path: string;
  /** First and last line, 1-based and inclusive; -1 as the last means the end. Ignored for a directory. */
  readonly view_range?: readonly [start: number, end: number] | null | undefined;
}

/** Creates a file. Its path must not exist. */
export interface CreateInput {
  readonly command: 'create';
  readonly path: string;
  readonly file_text: string;
}

/** Replaces a text that occurs exactly once in a file. Without `new_str`, deletes the text. */
export interface StrReplaceInput {
  readonly command: 'str_replace';
  readonly path: string;
  readonly old_str: string;
  readonly new_str?: string | null | undefined;
}

/** Inserts lines into a file after line `insert_line`; 0 inserts at the start of the file. */
export interface InsertInput {
  readonly command: 'insert';
  readonly path: string;
  readonly insert_line: number;
  readonly insert_text: string;
}

/** Deletes a file, or a directory with everything in it. */
export interface DeleteInput {
  readonly command: 'delete';
  readonly path: string;
}

/** Renames or moves a file or directory. Never overwrites a file. */
export interface RenameInput {
  readonly command: 'rename';
  readonly old_path: string;
  readonly new_path: string;
}

/** An input of the memory tool. */
export type MemoryInput = ViewInput | CreateInput | StrReplaceInput | InsertInput | DeleteInput | RenameInput;

/**
 * A `tool_use` block of an assistant message, from the API or an SDK. Its `input` is any value that the model wrote.
 * The service explains an invalid input to the model.
 */
export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  /** `memory` or `memory_search`. The service rejects calls of other tools. */
  readonly name: string;
  readonly input: unknown;
}

/** The result of a command. A failure that the model can correct is also a result, with `is_error: true`. */
export interface MemoryResult {
  /** The text for the model, byte for byte as documented. */
  content: string;
  is_error: boolean;
}

/** The result of a `tool_use` block, to be sent unchanged in the next user message. */
export interface ToolResultBlock extends MemoryResult {
  type: 'tool_result';
  tool_use_id: string;
}
