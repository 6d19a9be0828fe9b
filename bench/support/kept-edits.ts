import type { Contestant } from './contestants.ts';
import { tenantName } from './data.ts';
import type { Input } from './workloads.ts';

const EDITS = 10;
const oldMark = (edit: number) => `<${edit}>`;
const newMark = (edit: number) => `[${edit}]`;
const all = Array.from({ length: EDITS }, (_, edit) => edit);

/** Edits different lines in one file at the same time, and describes how many acknowledged edits the file keeps. */
export async function describeKeptEdits({ id, url, headers }: Contestant): Promise<string> {
  const execute = async (input: Input) => {
    const response = await fetch(`${url}/execute`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'x-tenant-id': tenantName(0) },
      body: JSON.stringify(input),
    });
    return response.text();
  };
  const path = `/memories/kept-${id}.md`;
  await execute({ command: 'create', path, file_text: all.map(oldMark).join('\n') });
  const results = await Promise.all(
    all.map((edit) =>
      execute({ command: 'str_replace', path, old_str: oldMark(edit), new_str: newMark(edit) }),
    ),
  );
  const acknowledged = results.filter((result) => result.includes('"is_error":false'));
  const content = await execute({ command: 'view', path });
  const kept = all.filter((edit) => content.includes(newMark(edit)));
  return `keeps ${kept.length} of ${acknowledged.length} acknowledged edits that change one file at the same time`;
}
