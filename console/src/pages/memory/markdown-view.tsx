import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatBytes } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, LoadError } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';

/** Length above which rendering may take seconds, if the text is a single block. */
const LONG = 200_000;
/** Distance to the end of the rendered text, in pixels, at which the next part is rendered. */
const AHEAD = 2000;

/** Renders a content as Markdown. A long content is rendered on request. */
export function MarkdownView({ content }: { content: string }) {
  const [isWanted, setIsWanted] = useState(content.length <= LONG);
  if (isWanted) return <RenderedMarkdown content={content} />;
  return (
    <Empty title={`This file has ${formatBytes(content.length)}`}>
      <p>Rendering it as Markdown may take some seconds.</p>
      <div class="buttons">
        <Button text="Render anyway" onClick={() => setIsWanted(true)} />
      </div>
    </Empty>
  );
}

/** Renders a content's parts as the user scrolls to them. The renderer is loaded on first use. */
function RenderedMarkdown({ content }: { content: string }) {
  const article = useRef<HTMLElement>(null);
  const [isTooDeep, setIsTooDeep] = useState(false);
  const { data, error } = useLoad(() => import('../../text/render-markdown.ts'), []);
  useLayoutEffect(() => {
    const element = article.current;
    if (!data || element === null) return;
    const parts = data.renderParts(content);
    const { scrollTop } = element;
    const renderVisible = () => {
      try {
        const top = Math.max(element.scrollTop, scrollTop);
        while (element.scrollHeight - top - element.clientHeight < AHEAD) {
          const { value, done } = parts.next();
          if (done) break;
          element.append(value);
        }
      } catch (cause) {
        if (!(cause instanceof RangeError)) throw cause;
        setIsTooDeep(true);
      }
    };
    element.replaceChildren();
    renderVisible();
    element.scrollTop = scrollTop;
    const observer = new ResizeObserver(renderVisible);
    observer.observe(element);
    element.addEventListener('scroll', renderVisible);
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', renderVisible);
    };
  }, [data, content]);
  if (error !== undefined) return <LoadError error={error} />;
  if (isTooDeep) return <Empty title="This file is nested too deeply to be rendered as Markdown" />;
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and without the focus the keyboard cannot scroll it.
  return <article ref={article} class="markdown" tabIndex={0} />;
}
