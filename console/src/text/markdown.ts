import DOMPurify, { type Config } from 'dompurify';
import { Marked } from 'marked';

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
    html: ({ text }) => escaped(text),
    image: ({ raw }) => escaped(raw),
    // A check box of a task list. A real `<input>` would be a form control.
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});

/** Renders Markdown. The content is untrusted, so only harmless elements are kept. */
export function renderMarkdown(content: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(markdown.parse(content, { async: false }), OPTIONS);
  for (const link of fragment.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
    // The tooltip shows the target, because the text of a link may be misleading.
    link.title = link.href;
  }
  return fragment;
}

function escaped(text: string): string {
  const element = document.createElement('p');
  element.textContent = text;
  return element.innerHTML;
}
