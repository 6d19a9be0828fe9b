import { lastName, parentDirectoryPath } from './model-path.ts';
import { byCodePoint, bytes, type Fields, fail, type Tree } from './model-types.ts';

/** Formats a size for listings: one decimal, rounded half up, never 1024.0 of a unit. */
export function size(n: number): string {
  if (n < 1024) return `${n}B`;
  let unit = 1024;
  for (const letter of ['K', 'M', 'G']) {
    const tenths = Math.floor((n * 10) / unit + 0.5);
    if (tenths < 10240 || letter === 'G') return `${Math.floor(tenths / 10)}.${tenths % 10}${letter}`;
    unit *= 1024;
  }
  throw new Error('unreachable');
}

/** Numbers lines, starting with `first` (1-based). */
export function numberLines(lines: string[], first: number): string {
  return lines.map((line, i) => `${String(first + i).padStart(6)}\t${line}`).join('\n');
}

function viewDirectory(tree: Tree, directory: string): string {
  const lines = [
    `Here're the files and directories up to 2 levels deep in ${directory}, excluding hidden items and node_modules:`,
    `4.0K\t${directory}`,
  ];
  const list = (parent: string, level: number) => {
    const children = [...tree.keys()].filter(
      (path) => path !== '/memories' && parentDirectoryPath(path) === parent,
    );
    for (const path of children.sort(byCodePoint)) {
      if (lastName(path).startsWith('.') || lastName(path) === 'node_modules') continue;
      const content = tree.get(path) ?? null;
      lines.push(content === null ? `4.0K\t${path}/` : `${size(bytes(content))}\t${path}`);
      if (level < 2) list(path, level + 1);
    }
  };
  list(directory, 1);
  return lines.join('\n');
}

function viewFile(path: string, content: string, range: [number, number] | null | undefined): string {
  const lines = content.split('\n');
  const n = lines.length;
  if (n > 999_999) fail(`File ${path} exceeds maximum line limit of 999,999 lines.`);
  const [start, end] = range ?? [1, -1];
  const first = Math.max(start, 1);
  const last = end === -1 ? n : Math.min(end, n);
  if (first > n || last < first) {
    const given = `[${start}, ${end}]`;
    fail(
      `Error: Invalid \`view_range\` parameter: ${given}. It should be within the range of lines of the file: [1, ${n}]`,
    );
  }
  return `Here's the content of ${path} with line numbers:\n${numberLines(lines.slice(first - 1, last), first)}`;
}

/** Runs `view` without MAX_VIEW_CHARS. */
export function view(tree: Tree, { path, view_range }: Fields): string {
  const content = tree.get(path);
  if (content === undefined) fail(`The path ${path} does not exist. Please provide a valid path.`);
  return content === null ? viewDirectory(tree, path) : viewFile(path, content, view_range);
}
