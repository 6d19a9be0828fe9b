/* Reads files through views, because the service returns only texts for the model to a client. */

import { timeSliced } from '../../../src/core/lib/time-slice.ts';
import type { ExecuteTool, ToolResult } from '../../../src/features/mcp/mcp-call.ts';

const HEADER = "Here's the content of ";
const NUMBER = /^ *\d+\t/;
const LISTED_FILE = /^\S+\t(\/.*[^/])$/;
/** The marker at the end of a truncated view (docs/contract.md, section 2). */
const CUT = /^\[Truncated: showing lines \d+ to (\d+) of \d+\./;

/** Lists the files in a view of `/memories`, one path per line. */
export async function listFiles(execute: ExecuteTool): Promise<ToolResult> {
  const { content, isError } = await view(execute, { path: '/memories' });
  if (isError) return { content, isError };
  const paths = content.split('\n').flatMap((line) => LISTED_FILE.exec(line)?.[1] ?? []);
  return { content: paths.filter((path) => path !== '/memories').join('\n'), isError: false };
}

/**
 * Reads the content of a file from views, and removes their line numbers. A file that is longer than one view may
 * change between two views.
 */
export async function readFile(execute: ExecuteTool, path: string): Promise<ToolResult> {
  const lines: string[] = [];
  for (;;) {
    const { content, isError } = await view(execute, { path, view_range: [lines.length + 1, -1] });
    if (isError) return { content, isError };
    if (!content.startsWith(HEADER)) return { content: `${path} is a directory.`, isError: true };
    const shown = content.split('\n').slice(1);
    const last = shown.at(-1) ?? '';
    const isWhole = NUMBER.test(last);
    if (!isWhole) {
      shown.pop();
      if (!CUT.test(last)) return { content: `${path} has a line that is too long to read.`, isError: true };
    }
    // Lines are added one by one, because a view may have more lines than `push` accepts as arguments.
    for await (const line of timeSliced(shown)) lines.push(line.replace(NUMBER, ''));
    if (isWhole) return { content: lines.join('\n'), isError: false };
  }
}

function view(execute: ExecuteTool, input: object): Promise<ToolResult> {
  return execute({ id: `mcp_${crypto.randomUUID()}`, name: 'memory', input: { command: 'view', ...input } });
}
