import DOMPurify, { type Config } from 'dompurify';
import { Marked, type Token } from 'marked';

/** Elements and attributes that can neither load a resource, nor submit a form, nor apply a style. */
const OPTIONS = {
  ALLOWED_TAGS: [
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'p',
    'br',
    'hr',
    'blockquote',
    'pre',
    'code',
    'ul',
    'ol',
    'li',
    'em',
    'strong',
    'del',
    'a',
    'table',
    'thead',
    'tbody',
    'tr',
    'th',
    'td',
  ],
  ALLOWED_ATTR: ['href', 'align', 'start'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  RETURN_DOM_FRAGMENT: true,
} satisfies Config & { RETURN_DOM_FRAGMENT: true };

/**
 * HTML and images are shown as source text. The user sees all text that a model reads, and the browser loads no
 * resource.
 */
const markdown = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ raw }) => escapeHtml(raw),
    // A check box in a task list. A real `<input>` would be a form control.
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});

/** Source length for one part, unless a single block is longer. A part takes well under 100 ms. */
const PART = 10_000;

/**
 * Splits Markdown into parts that consist of whole blocks, so that a page can render a long text bit by bit.
 *
 * @throws RangeError if blocks are nested too deeply
 */
export function* renderParts(content: string): Generator<DocumentFragment> {
  let part: Token[] = [];
  let length = 0;
  for (const token of markdown.lexer(content)) {
    part.push(token);
    length += token.raw.length;
    if (length < PART) continue;
    yield render(part);
    [part, length] = [[], 0];
  }
  if (part.length > 0) yield render(part);
}

/** Renders Markdown blocks. The content is untrusted, so only harmless elements are kept. */
function render(blocks: Token[]): DocumentFragment {
  const fragment = DOMPurify.sanitize(markdown.parser(blocks), OPTIONS);
  for (const link of fragment.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
    // The tooltip shows the target, because a link's text may be misleading.
    link.title = link.href;
  }
  return fragment;
}

function escapeHtml(text: string): string {
  const element = document.createElement('p');
  element.textContent = text;
  return element.innerHTML;
}
