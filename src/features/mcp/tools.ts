import type { Tool } from '@modelcontextprotocol/server';
import { MEMORY_DEFINITION, SEARCH_DEFINITION, SHARING_DEFINITION } from './definitions.ts';

// Otherwise, Claude Code omits the tools from the prompt until the model searches for them.
const _meta = { 'anthropic/alwaysLoad': true };

export const MEMORY_TOOL: Tool = {
  name: MEMORY_DEFINITION.name,
  title: 'Memory',
  description: MEMORY_DEFINITION.description,
  inputSchema: MEMORY_DEFINITION.input_schema,
  annotations: {
    title: 'Memory',
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: false,
  },
  _meta,
};

export const SEARCH_TOOL: Tool = {
  name: SEARCH_DEFINITION.name,
  title: 'Search memory',
  description: SEARCH_DEFINITION.description,
  inputSchema: SEARCH_DEFINITION.input_schema,
  annotations: { title: 'Search memory', readOnlyHint: true, openWorldHint: false },
  _meta,
};

export const SHARING_TOOL: Tool = {
  name: SHARING_DEFINITION.name,
  title: 'Share memory',
  description: SHARING_DEFINITION.description,
  inputSchema: SHARING_DEFINITION.input_schema,
  annotations: {
    title: 'Share memory',
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: false,
  },
};

/** Tools that every caller has. */
export const TOOLS: readonly Tool[] = [MEMORY_TOOL, SEARCH_TOOL];
export const ALL_TOOLS: readonly Tool[] = [...TOOLS, SHARING_TOOL];
