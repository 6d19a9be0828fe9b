/** Finds the prose in a Markdown document: headings, paragraphs, list items, and table cells. */
import { marked, type Token, type Tokens } from 'marked';
import type { Text } from './paragraphs.ts';

export function markdownTexts(source: string): Text[] {
  // A site page starts with front matter. Replacing it with blank lines keeps the line numbers.
  const body = source.replace(/^---\n[\s\S]*?\n---\n/, (matter) => matter.replaceAll(/[^\n]/g, ''));
  return blockTexts(marked.lexer(body), 1);
}

function blockTexts(tokens: Token[], firstLine: number): Text[] {
  let line = firstLine;
  return tokens.flatMap((token) => {
    const start = line;
    line += token.raw.split('\n').length - 1;
    return blockTokenTexts(token as Tokens.Generic, start);
  });
}

function blockTokenTexts(token: Tokens.Generic, line: number): Text[] {
  switch (token.type) {
    case 'heading':
    case 'paragraph':
    case 'text':
      return textAt(token.tokens ?? [], line);
    case 'list':
      return blockTexts(token.items, line);
    case 'list_item':
    case 'blockquote':
      return blockTexts(token.tokens ?? [], line);
    case 'table':
      return [token.header, ...token.rows].flatMap((cells: Tokens.TableCell[], row) =>
        // A table's second line is the delimiter row.
        cells.flatMap(({ tokens }) => textAt(tokens, line + row + (row > 0 ? 1 : 0))),
      );
    default:
      return [];
  }
}

function textAt(tokens: Token[], line: number): Text[] {
  const text = plainText(tokens);
  return text.trim() === '' ? [] : [{ kind: 'docs', line, text }];
}

/** Returns the visible text. Code keeps its backticks. Struck-through text is skipped, because it shows a mistake. */
function plainText(tokens: Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'codespan') return token.raw;
      if (token.type === 'br') return '\n';
      if (token.type === 'html' || token.type === 'del' || token.type === 'image') return '';
      if ('tokens' in token && token.tokens !== undefined) return plainText(token.tokens);
      return 'text' in token ? token.text : '';
    })
    .join('');
}
