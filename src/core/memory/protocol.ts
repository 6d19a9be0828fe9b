/** End of the memory protocol. */
export const ASSUME_INTERRUPTION =
  'ASSUME INTERRUPTION: Your context window might be reset at any moment, so you risk losing any progress that is not recorded in your memory directory.';

/**
 * Instruction that the Claude API adds to the system prompt together with the memory tool. MCP hosts and other APIs do
 * not add it.
 */
export const MEMORY_PROTOCOL = `IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE DOING ANYTHING ELSE.
MEMORY PROTOCOL:
1. Use the \`view\` command of your \`memory\` tool to check for earlier progress.
2. ... (work on the task) ...
     - As you make progress, record status / progress / thoughts etc in your memory.
${ASSUME_INTERRUPTION}`;

/** The documentation's recommended instruction against cluttered memories. */
export const TIDINESS =
  'Note: when editing your memory folder, always try to keep its content up-to-date, coherent and organized. You can rename or delete files that are no longer relevant. Do not create new files unless necessary.';
