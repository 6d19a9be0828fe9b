import { ErrorCode, McpError, type Resource } from '@modelcontextprotocol/sdk/types.js';
import { timeSliced } from '../../lib/time-slice.ts';
import { callMemory, type ExecuteTool } from './call.ts';

/** The error code of the MCP specification for a resource that does not exist. */
const RESOURCE_NOT_FOUND = -32002;

const HEADER = "Here's the content of ";
const NUMBER = /^ *\d+\t/;
const LISTED_FILE = /^\S+\t(\/.*[^/])$/;
/** The marker at the end of a truncated view (docs/contract.md, section 2). */
const CUT = /^\[Truncated: showing lines \d+ to (\d+) of \d+\./;

/** Lists the files in a view of `/memories`, which has two levels and omits hidden files. */
export async function listFiles(execute: ExecuteTool): Promise<Resource[]> {
  const { content, isError } = await callMemory(execute, { command: 'view', path: '/memories' });
  if (isError) throw new McpError(ErrorCode.InternalError, content);
  const files: Resource[] = [];
  for await (const line of timeSliced(content.split('\n'))) {
    const path = LISTED_FILE.exec(line)?.[1];
    if (path === undefined || path === '/memories') continue;
    files.push({ uri: uriOf(path), name: path, mimeType: 'text/plain' });
  }
  return files;
}

/**
 * Reads the content of a file from views, and removes their line numbers. A file that is longer than one view may
 * change between two views.
 *
 * @throws McpError if the file does not exist or has a line that is longer than a view
 */
export async function readFile(execute: ExecuteTool, uri: URL): Promise<string> {
  const path = pathOf(uri);
  const lines: string[] = [];
  for (;;) {
    const { content, isError } = await callMemory(execute, {
      command: 'view',
      path,
      view_range: [lines.length + 1, -1],
    });
    if (isError) throw new McpError(RESOURCE_NOT_FOUND, content);
    if (!content.startsWith(HEADER)) throw new McpError(RESOURCE_NOT_FOUND, `${path} is a directory.`);
    const shown = content.split('\n').slice(1);
    const last = shown.at(-1) ?? '';
    const isWhole = NUMBER.test(last);
    if (!isWhole) {
      shown.pop();
      if (!CUT.test(last))
        throw new McpError(RESOURCE_NOT_FOUND, `${path} has a line that is too long to read.`);
    }
    // Lines are added one by one, because a view may have more lines than `push` accepts as arguments.
    for await (const line of timeSliced(shown)) lines.push(line.replace(NUMBER, ''));
    if (isWhole) return lines.join('\n');
  }
}

function uriOf(path: string): string {
  return `memory://${path.split('/').map(encodeURIComponent).join('/')}`;
}

function pathOf({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    throw new McpError(RESOURCE_NOT_FOUND, 'The URI has a wrong percent encoding.');
  }
}
