import { MEMORY_DEFINITION } from './definitions.ts';

/**
 * The memory tool as a function, for models of other providers. Claude has its own definition of the tool, `{ type:
 * 'memory_20250818', name: 'memory' }`.
 */
export const MEMORY_FUNCTION_TOOL = MEMORY_DEFINITION;
