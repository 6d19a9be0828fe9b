/** Finds comments, test titles, and user-visible strings in TypeScript, JavaScript, and JSX. */
import { parseSync, Visitor } from 'rolldown/utils';
import { lineAt, paragraphs, type Text } from './paragraphs.ts';

type Program = ReturnType<typeof parseSync>['program'];
interface Node {
  type: string;
  start: number;
  end: number;
}
type Comment = ReturnType<typeof parseSync>['comments'][number];

/** Directories whose strings are visible to users: help, errors, logs, command results, the console, and clients. */
const USER_VISIBLE = /^(src|console\/src|clients\/[^/]+\/src)\//;
const SQL =
  /\b(SELECT|FROM|WHERE|AND|AS|SET|ORDER BY|WITH|LIMIT|VALUES|JOIN|THEN|CONFLICT|TABLE|TIME ZONE|INTO|COALESCE)\b|::/;
const TEST_FUNCTION = /^(it|test|describe\w*)$/;
const DIRECTIVE = /^\W*(biome-ignore|@ts-|eslint|v8 ignore|@vitest|@module-tag|@__|#|\/ <reference)/;

export function codeTexts(file: string, source: string): Text[] {
  const { program, comments, errors } = parseSync(file, source);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file} cannot be parsed: ${error.message}`);
  const isTest = /\.test\.tsx?$/.test(file);
  return [
    ...commentTexts(source, comments),
    ...(USER_VISIBLE.test(file) && !isTest ? strings(source, program, file.startsWith('src/')) : []),
    ...(isTest || file.startsWith('test/') ? titles(source, program) : []),
  ];
}

function commentTexts(source: string, comments: Comment[]): Text[] {
  const groups: Comment[][] = [];
  for (const comment of comments) {
    const previous = groups.at(-1)?.at(-1);
    const isNext =
      previous?.type === 'Line' &&
      comment.type === 'Line' &&
      /^[ \t]*\n[ \t]*$/.test(source.slice(previous.end, comment.start));
    if (isNext) groups.at(-1)?.push(comment);
    else groups.push([comment]);
  }
  return groups.flatMap((group) => {
    const content = group.map(({ value }) => value).join('\n');
    if (DIRECTIVE.test(content)) return [];
    return paragraphs(content, lineAt(source, group[0]?.start ?? 0)).map((text) => ({
      kind: 'comments' as const,
      ...text,
    }));
  });
}

/** Finds the titles in calls to `it`, `describe`, and functions built on them, such as `it.each([…])('title')`. */
function titles(source: string, program: Program): Text[] {
  const found: Text[] = [];
  new Visitor({
    CallExpression({ callee, arguments: [first] }) {
      const name = rootName(callee);
      if (first === undefined || !TEST_FUNCTION.test(name)) return;
      const text = literal(first);
      if (text === undefined) return;
      const kind = name.startsWith('describe') ? 'suites' : 'titles';
      found.push({ kind, line: lineAt(source, first.start), text });
    },
  }).visit(program);
  return found;
}

function rootName(node: Node): string {
  const { name, object, callee } = node as Node & { name?: string; object?: Node; callee?: Node };
  const inner = object ?? callee;
  return inner === undefined ? (name ?? '') : rootName(inner);
}

/** Finds string literals that read as prose, and the text in JSX elements. */
function strings(source: string, program: Program, isService: boolean): Text[] {
  const found: Text[] = [];
  let end = 0;
  const add = (node: Node) => {
    // A longer string that contains this node was already added.
    if (node.start < end) return;
    const text = literal(node);
    if (text === undefined || !isProse(text)) return;
    end = node.end;
    found.push(
      ...paragraphs(withoutCommands(text), lineAt(source, node.start)).map((each) => ({
        kind: 'texts' as const,
        ...each,
      })),
    );
  };
  new Visitor({
    Property: ({ key, value }) => {
      // The OpenAPI documents have these strings, with their expressions' values.
      if (isService && key.type === 'Identifier' && /^(description|summary)$/.test(key.name))
        end = Math.max(end, value.end);
    },
    JSXAttribute: ({ name, value }) => {
      if (name.name === 'className' && value !== null) end = Math.max(end, value.end);
    },
    MemberExpression: ({ object, property }) => {
      // A word list, not prose.
      if (property.type === 'Identifier' && property.name === 'split') end = Math.max(end, object.end);
    },
    BinaryExpression: add,
    TemplateLiteral: add,
    Literal: add,
    JSXText: ({ start, value }) => {
      const text = value.replaceAll(/\s+/g, ' ').trim();
      if (isProse(text)) found.push({ kind: 'texts', line: lineAt(source, start), text });
    },
    TaggedTemplateExpression: ({ quasi }) => {
      end = Math.max(end, quasi.end);
    },
  }).visit(program);
  return found;
}

/** Removes the sample commands from a help text. A shell completion script is skipped completely. */
const withoutCommands = (text: string) =>
  text.startsWith('#') ? '' : text.replaceAll(/^ *memory-service .*$/gm, '');

const isProse = (text: string) => /\p{L}+ \p{L}+/u.test(text) && !SQL.test(text);

/** Returns the value of a string, template, or concatenation. `…` stands for each expression. */
function literal(node: Node): string | undefined {
  if (node.type === 'Literal') {
    const { value } = node as Node & { value?: unknown };
    return typeof value === 'string' ? value : undefined;
  }
  if (node.type === 'TemplateLiteral') {
    const { quasis } = node as Node & { quasis: { value: { cooked: string | null } }[] };
    return quasis.map(({ value }) => value.cooked ?? '').join('…');
  }
  if (node.type === 'BinaryExpression') {
    const { operator, left, right } = node as Node & { operator: string; left: Node; right: Node };
    const [start, rest] = [literal(left), literal(right)];
    if (operator === '+' && (start !== undefined || rest !== undefined))
      return `${start ?? '…'}${rest ?? '…'}`;
  }
  return undefined;
}
