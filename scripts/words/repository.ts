/** Reads the texts and names in all files in the repository. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Text } from './paragraphs.ts';
import { extractTexts } from './texts.ts';

export const GUIDE = 'docs/writing.md';
const root = join(import.meta.dirname, '../..');

export const pathTo = (file: string) => join(root, file);
export const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
export const lines = (text: string) => text.split('\n').filter((line) => line !== '');

/** Reads tracked and new files. Deleted files and ignored files are left out. */
export function readSources(): { file: string; source: string }[] {
  const deleted = new Set(lines(git('ls-files', '--deleted')));
  return lines(git('ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'))
    .filter((file) => !deleted.has(file))
    .map((file) => ({ file, source: readFileSync(pathTo(file), 'utf8') }));
}

export const readTexts = (): (Text & { file: string })[] =>
  readSources().flatMap(({ file, source }) => extractTexts(file, source).map((text) => ({ file, ...text })));

/** Reads all commit subjects since the guide was added. */
export function readSubjects(): { commit: string; subject: string }[] {
  if (git('rev-parse', '--is-shallow-repository').trim() === 'true') {
    console.error('Commit subjects are not read: this clone has no history (git fetch --unshallow).');
    return [];
  }
  const guide = git('log', '--diff-filter=A', '--format=%H', '-1', '--', GUIDE).trim();
  if (guide === '') return [];
  return lines(git('log', '--no-merges', '--abbrev=8', '--format=%h %s', `${guide}..HEAD`)).map((line) => {
    const [commit = '', ...words] = line.split(' ');
    return { commit, subject: words.join(' ') };
  });
}
