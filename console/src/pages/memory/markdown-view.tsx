import { useLayoutEffect, useRef } from 'preact/hooks';
import { LoadError } from '../../ui/messages.tsx';
import { useLoad } from '../../ui/use-load.ts';

/** Renders a content as Markdown. The renderer is loaded on first use. */
export function MarkdownView({ content }: { content: string }) {
  const article = useRef<HTMLElement>(null);
  const { data, error } = useLoad(() => import('../../text/markdown.ts'), []);
  useLayoutEffect(() => {
    if (data) article.current?.replaceChildren(data.renderMarkdown(content));
  }, [data, content]);
  if (error !== undefined) return <LoadError error={error} />;
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and without the focus the keyboard cannot scroll it.
  return <article ref={article} class="markdown" tabIndex={0} />;
}
