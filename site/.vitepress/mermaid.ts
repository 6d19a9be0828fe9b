import type { MarkdownRenderer } from 'vitepress';

/** Fences of mermaid become `<MermaidDiagram>`, which draws them; without scripts their source stays readable. */
export function mermaidFences(md: MarkdownRenderer): void {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, i, options, env, self) => {
    const token = tokens[i];
    if (token?.info.trim() !== 'mermaid') return fence?.(tokens, i, options, env, self) ?? '';
    return `<MermaidDiagram source="${encodeURIComponent(token.content)}" />`;
  };
}
