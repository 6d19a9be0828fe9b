import type { MarkdownRenderer } from 'vitepress';

/** Renders a mermaid code block as `<MermaidDiagram>`. Without scripts, the source remains readable. */
export function mermaidFences(md: MarkdownRenderer): void {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, i, options, env, self) => {
    const token = tokens[i];
    if (token?.info.trim() !== 'mermaid') return fence?.(tokens, i, options, env, self) ?? '';
    return `<MermaidDiagram source="${encodeURIComponent(token.content)}" />`;
  };
}
