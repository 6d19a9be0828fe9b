import { extname } from 'node:path';
import { LineCounter, parseDocument, visit } from 'yaml';
import { codeTexts } from './code.ts';
import { markdownTexts } from './markdown.ts';
import { type Kind, lineAt, paragraphs, type Text } from './paragraphs.ts';

/** Generated or copied files, which are not checked. */
const SKIPPED =
  /^(test\/fixtures\/|migrations\/[^/]+\.sql$|console\/src\/api\/schema\.ts$|test\/api\/generators\/.*\/generated)/;

export const isChecked = (file: string) => !SKIPPED.test(file);

/** Files whose comments are published to users. Their comments count as `texts`. */
const PUBLISHED = /^(charts\/memory-service\/values\.yaml|clients\/[^/]+\/src\/)/;

/**
 * Whether texts of this kind can start in lower case: test titles, and the service's strings, such as log messages.
 */
export const startsLower = (file: string, kind: Kind) =>
  kind === 'titles' || kind === 'suites' || (kind === 'texts' && file.startsWith('src/'));

export function extractTexts(file: string, source: string): Text[] {
  if (!isChecked(file)) return [];
  const texts = extract(file, source);
  return PUBLISHED.test(file) && !file.includes('.test.')
    ? texts.map((text) => ({ ...text, kind: 'texts' }))
    : texts;
}

function extract(file: string, source: string): Text[] {
  if (/^(admin-)?openapi\.yaml$/.test(file)) return descriptions(source);
  switch (extname(file)) {
    case '.ts':
    case '.tsx':
    case '.js':
    case '.mjs':
    case '.cjs':
    case '.mts':
      return codeTexts(file, source);
    case '.md':
      return markdownTexts(source);
    case '.sql':
      return lineComments(source, /^\s*-- ?(.*)/);
    case '.css':
      return blocks(source, /\/\*([\s\S]*?)\*\//g);
    case '.py':
      return [...blocks(source, /"""([\s\S]*?)"""/g), ...lineComments(source, /^\s*# ?(.*)/)];
    case '.yaml':
    case '.yml':
    case '.sh':
      return lineComments(source, /^\s*# ?(.*)/);
    default:
      return source.startsWith('#!') || file.endsWith('Dockerfile')
        ? lineComments(source, /^\s*#(?!!) ?(.*)/)
        : [];
  }
}

/** Finds the descriptions and summaries in an OpenAPI document. */
function descriptions(source: string): Text[] {
  const lines = new LineCounter();
  const texts: Text[] = [];
  visit(parseDocument(source, { lineCounter: lines }), {
    Pair(_, pair) {
      const { key, value } = pair as {
        key: { value?: unknown };
        value: { value?: unknown; range?: number[] };
      };
      if ((key.value !== 'description' && key.value !== 'summary') || typeof value?.value !== 'string')
        return;
      const { line } = lines.linePos(value.range?.[0] ?? 0);
      texts.push(...paragraphs(value.value).map(({ text }) => ({ kind: 'texts' as const, line, text })));
    },
  });
  return texts;
}

/** Finds comments that fill a line. Consecutive lines form one comment. */
function lineComments(source: string, pattern: RegExp): Text[] {
  const texts: Text[] = [];
  let comment: string[] = [];
  const lines = source.split('\n');
  for (const [i, line] of [...lines, ''].entries()) {
    const found = pattern.exec(line)?.[1];
    if (found !== undefined) comment.push(found);
    else if (comment.length > 0) {
      texts.push(...paragraphs(comment.join('\n'), i - comment.length + 1).map(asComment));
      comment = [];
    }
  }
  return texts;
}

/** Finds comments or docstrings between two delimiters. */
function blocks(source: string, pattern: RegExp): Text[] {
  return [...source.matchAll(pattern)].flatMap(({ index, 1: content = '' }) =>
    paragraphs(content, lineAt(source, index)).map(asComment),
  );
}

const asComment = (text: Omit<Text, 'kind'>): Text => ({ kind: 'comments', ...text });
