import type { MarkdownRenderer } from 'vitepress';

type Token = ReturnType<MarkdownRenderer['parse']>[number];

/** Number of columns from which a table becomes a card list on a phone. */
const MANY_COLUMNS = 4;

/**
 * Lets tables fit the page: text and code in cells can wrap after punctuation and within camel case. Each cell has its
 * column's header as `data-label`, for the cards on a phone.
 */
export function wrappingTables(md: MarkdownRenderer): void {
  md.core.ruler.push('wrapping-tables', ({ tokens }) => {
    tokens.forEach((table, start) => {
      if (table.type !== 'table_open') return;
      const end = tokens.findIndex(({ type }, i) => i > start && type === 'table_close');
      prepare(table, tokens.slice(start, end));
    });
  });

  // VitePress' renderer drops the class.
  md.renderer.rules.table_open = (tokens, i, options, _env, self) => {
    tokens[i]?.attrSet('tabindex', '0');
    return self.renderToken(tokens, i, options);
  };
  for (const name of ['text', 'code_inline'] as const) {
    const render = md.renderer.rules[name];
    md.renderer.rules[name] = (tokens, i, options, env, self) => {
      const html = render?.(tokens, i, options, env, self) ?? '';
      return tokens[i]?.meta?.wraps ? html.replaceAll(/<[^>]*>|[^<]+/g, addBreaks) : html;
    };
  }
}

function prepare(table: Token, tokens: Token[]): void {
  const labels = tokens.flatMap(({ type }, i) => (type === 'th_open' ? [cellText(tokens[i + 1])] : []));
  if (labels.length >= MANY_COLUMNS) table.attrJoin('class', 'many-columns');
  let column = 0;
  for (const token of tokens) {
    if (token.type === 'tr_open') column = 0;
    // A class, because the cards override it.
    if (token.attrGet('style') === 'text-align:right') token.attrs = [['class', 'align-right']];
    if (token.type === 'td_open') token.attrSet('data-label', labels[column++] ?? '');
    for (const child of token.children ?? []) child.meta = { ...child.meta, wraps: true };
  }
}

const cellText = (cell: Token | undefined) => (cell?.children ?? []).map(({ content }) => content).join('');

/** Adds break opportunities to a text, but none to a tag or within an entity such as `&lt;`. */
const addBreaks = (html: string) =>
  html.startsWith('<')
    ? html
    : html.replaceAll(/(?<=[\w;}\]])[_/.,:=?|-]+(?=[A-Za-z&{…])|[a-z](?=[A-Z])/g, '$&<wbr>');
