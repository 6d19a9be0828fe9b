import {
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server';
import { timeSliced } from '../../core/lib/time-slice.ts';
import { callMemory, type ExecuteTool } from './call.ts';
import { pathOfUri, uriOf } from './resource-uri.ts';

const HEADER = "Here's the content of ";
const NUMBER = /^ *\d+\t/;
const LISTED_FILE = /^\S+\t(\/.*[^/])$/;
/** The marker at the end of a truncated view (docs/contract.md, section 2). */
const CUT = /^\[Truncated: showing lines \d+ to (\d+) of \d+\./;

/** Lists the files in a view of `/memories`, which has two levels and omits hidden files. */
export async function listFiles(
  execute: ExecuteTool,
  details: Pick<Resource, 'title' | 'description' | 'mimeType'>,
): Promise<Resource[]> {
  const { content, isError } = await callMemory(execute, { command: 'view', path: '/memories' });
  if (isError) throw new ProtocolError(ProtocolErrorCode.InternalError, content);
  const files: Resource[] = [];
  for await (const line of timeSliced(content.split('\n'))) {
    const path = LISTED_FILE.exec(line)?.[1];
    if (path === undefined || path === '/memories') continue;
    files.push({ uri: uriOf(path), name: path, ...details });
  }
  return files;
}

/**
 * Reads the content of a file from views, and removes their line numbers. A file that is longer than one view may
 * change between two views.
 *
 * @throws ResourceNotFoundError if the file does not exist or has a line that is longer than a view
 */
export async function readFile(execute: ExecuteTool, uri: string): Promise<string> {
  const path = pathOfUri(uri);
  if (path === undefined)
    throw new ResourceNotFoundError(uri, 'The URI of a file looks like memory:///memories/notes.md.');
  const lines: string[] = [];
  for (;;) {
    const { content, isError } = await callMemory(execute, {
      command: 'view',
      path,
      view_range: [lines.length + 1, -1],
    });
    if (isError) throw new ResourceNotFoundError(uri, content);
    if (!content.startsWith(HEADER)) throw new ResourceNotFoundError(uri, `${path} is a directory.`);
    const shown = content.split('\n').slice(1);
    const last = shown.at(-1) ?? '';
    const isWhole = NUMBER.test(last);
    if (!isWhole) {
      shown.pop();
      if (!CUT.test(last))
        throw new ResourceNotFoundError(uri, `${path} has a line that is too long to read.`);
    }
    // Lines are added one by one, because a view may have more lines than `push` accepts as arguments.
    for await (const line of timeSliced(shown)) lines.push(line.replace(NUMBER, ''));
    if (isWhole) return lines.join('\n');
  }
}
