import { ErrorCode, McpError, type Resource } from '@modelcontextprotocol/sdk/types.js';
import { timeSliced } from '../../lib/time-slice.ts';
import { callMemory, type ExecuteTool } from './call.ts';

/** The code that the MCP specification has for a resource that does not exist. */
const RESOURCE_NOT_FOUND = -32002;

const HEADER = "Here's the content of ";
const NUMBER = /^ *\d+\t/;
const LISTED_FILE = /^\S+\t(\/.*[^/])$/;
/** The service cuts long results at a line (docs/contract.md, section 2). */
const CUT = /^\[Truncated: showing lines \d+ to (\d+) of \d+\./;

/** The files that a view of `/memories` lists: two levels, without hidden ones. */
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
 * The content of a file, read as views without their line numbers. A file that is too long for one view is read in
 * several, and may change between them.
 *
 * @throws McpError when there is no such file, or it has a line that is longer than a view
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
    // A view may have more lines than a call takes arguments.
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
