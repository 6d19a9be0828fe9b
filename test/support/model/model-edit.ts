import { ancestors, isBelow, ROOT, tooLong } from './model-path.ts';
import { byCodePoint, bytes, type Fields, fail, type Limits, type Tree } from './model-types.ts';
import { numberLines } from './model-view.ts';

/** Result from a writing command: the new tree and the message. */
type Change = { tree: Tree; content: string };

function checkSize(path: string, content: string, { maxFileBytes }: Limits): void {
  if (bytes(content) > maxFileBytes) {
    fail(`Error: File ${path} exceeds the maximum memory file size of ${maxFileBytes} bytes`);
  }
}

/** Shortens a text that is too long to quote and appends the number of omitted characters (section 2). */
function shortenText(text: string): string {
  if (text.length <= 4096) return text;
  const kept = text.slice(0, /^[\ud800-\udbff]/.test(text.charAt(4095)) ? 4095 : 4096);
  return `${kept}[… ${text.length - kept.length} more characters]`;
}

/** Returns the tree with one more entry and the directories above it. Callers check that no file is in their place. */
function add(tree: Tree, path: string, content: string | null): Map<string, string | null> {
  const next = new Map(tree);
  next.set(path, content);
  for (const directory of ancestors(path)) next.set(directory, null);
  return next;
}

function rejectFileAbove(tree: Tree, path: string): void {
  const file = ancestors(path).find((above) => typeof tree.get(above) === 'string');
  if (file) fail(`Error: ${file} is not a directory`);
}

export function create(tree: Tree, { path, file_text }: Fields, limits: Limits): Change {
  checkSize(path, file_text, limits);
  if (tree.has(path)) fail(`Error: File ${path} already exists`);
  rejectFileAbove(tree, path);
  return { tree: add(tree, path, file_text), content: `File created successfully at: ${path}` };
}

export function strReplace(tree: Tree, { path, old_str, new_str }: Fields, limits: Limits): Change {
  if (old_str === '') fail('Error: Invalid `old_str` parameter: it must not be empty');
  const content = tree.get(path);
  if (typeof content !== 'string')
    fail(`Error: The path ${path} does not exist. Please provide a valid path.`);
  const pieces = content.split(old_str);
  if (pieces.length === 1) {
    fail(
      `No replacement was performed, old_str \`${shortenText(old_str)}\` did not appear verbatim in ${path}.`,
    );
  }
  const lineCount = (text: string) => text.split('\n').length;
  if (pieces.length > 2) {
    const lines = pieces.slice(0, -1).map((_, i) => lineCount(pieces.slice(0, i + 1).join(old_str)));
    fail(
      `No replacement was performed. Multiple occurrences of old_str \`${shortenText(old_str)}\` in lines: ${lines.join(', ')}. Please ensure it is unique`,
    );
  }
  const [before = '', after = ''] = pieces;
  const edited = before + (new_str ?? '') + after;
  checkSize(path, edited, limits);
  const firstChanged = lineCount(before);
  const lastChanged = lineCount(before + (new_str ?? ''));
  const from = Math.max(1, firstChanged - 2);
  const snippet = numberLines(edited.split('\n').slice(from - 1, lastChanged + 2), from);
  return {
    tree: new Map(tree).set(path, edited),
    content: `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`,
  };
}

export function insert(tree: Tree, { path, insert_line, insert_text }: Fields, limits: Limits): Change {
  const content = tree.get(path);
  if (typeof content !== 'string') fail(`Error: The path ${path} does not exist`);
  const lines = content.split('\n');
  if (insert_line < 0 || insert_line > lines.length) {
    fail(
      `Error: Invalid \`insert_line\` parameter: ${insert_line}. It should be within the range of lines of the file: [0, ${lines.length}]`,
    );
  }
  const text = insert_text.endsWith('\n') ? insert_text.slice(0, -1) : insert_text;
  const edited = [...lines.slice(0, insert_line), text, ...lines.slice(insert_line)].join('\n');
  checkSize(path, edited, limits);
  return { tree: new Map(tree).set(path, edited), content: `The file ${path} has been edited.` };
}

export function remove(tree: Tree, { path }: Fields): Change {
  if (path === ROOT) fail('Error: Cannot delete the /memories directory itself');
  if (!tree.has(path)) fail(`Error: The path ${path} does not exist`);
  const kept = [...tree].filter(([other]) => other !== path && !isBelow(other, path));
  return { tree: new Map(kept), content: `Successfully deleted ${path}` };
}

export function rename(tree: Tree, { old_path, new_path }: Fields): Change {
  if (old_path === ROOT) fail('Error: Cannot rename the /memories directory itself');
  if (tree.has(new_path)) fail(`Error: The destination ${new_path} already exists`);
  if (!tree.has(old_path)) fail(`Error: The path ${old_path} does not exist`);
  if (isBelow(new_path, old_path)) {
    fail(`Error: Cannot rename ${old_path} to ${new_path}, which is inside it`);
  }
  rejectFileAbove(tree, new_path);
  const moved = [...tree]
    .filter(([path]) => path === old_path || isBelow(path, old_path))
    .map(([path, content]): [string, string | null] => [new_path + path.slice(old_path.length), content])
    .sort(([a], [b]) => byCodePoint(a, b));
  for (const [path] of moved) {
    const problem = tooLong(path);
    if (problem) fail(problem);
  }
  const kept = [...tree].filter(([path]) => path !== old_path && !isBelow(path, old_path));
  let next: Tree = new Map(kept);
  for (const [path, content] of moved) next = add(next, path, content);
  return { tree: next, content: `Successfully renamed ${old_path} to ${new_path}` };
}
