import DOMPurify, { type Config } from 'dompurify';
import { Marked } from 'marked';

/** What text needs, and nothing that loads, submits or styles. */
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

/** HTML and images are shown as they are written: nothing that a model reads is hidden, and nothing is loaded. */
const markdown = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ raw }) => escaped(raw),
    // Of a task list. A real one would be a form's.
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});

/** Renders Markdown. The content is hostile: only harmless elements are left of it. */
export function renderMarkdown(content: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(markdown.parse(content, { async: false }), OPTIONS);
  for (const link of fragment.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
    // A link says where it leads, whatever its text claims.
    link.title = link.href;
  }
  return fragment;
}

function escaped(text: string): string {
  const element = document.createElement('p');
  element.textContent = text;
  return element.innerHTML;
}
