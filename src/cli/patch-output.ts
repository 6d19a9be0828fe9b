import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Io } from './io.ts';
import { shown } from './output.ts';

type Format = Parameters<typeof styleText>[0];

/** Colors a text where the output is a terminal that shows colors, and `NO_COLOR` is not set. */
export function styled(output: Writable, format: Format, text: string): string {
  return styleText(format, text, { stream: output });
}

/** A patch of one file, in colors. */
export function patchText(output: Io['stdout'], patch: string): string {
  let isHeader = true;
  const lines = patch.split('\n').map((line) => {
    if (line.startsWith('@@')) isHeader = false;
    const text = shown(output, line);
    const format = line === '' ? undefined : isHeader ? 'bold' : formatOf(line);
    return format === undefined ? text : styled(output, format, text);
  });
  return lines.join('\n');
}

function formatOf(line: string): Format | undefined {
  if (line.startsWith('@@')) return 'cyan';
  if (line.startsWith('+')) return 'green';
  return line.startsWith('-') ? 'red' : undefined;
}
