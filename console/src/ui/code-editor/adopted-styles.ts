import { StyleModule } from 'style-mod';

const adopted = new Set<StyleModule>();

/**
 * Mounts CodeMirror's styles as constructed style sheets. By default, CodeMirror writes them into a `<style>` element,
 * which the console's content security policy rejects.
 */
StyleModule.mount = (root, modules) => {
  for (const module of [modules].flat()) {
    if (adopted.has(module)) continue;
    adopted.add(module);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(module.getRules());
    root.adoptedStyleSheets.push(sheet);
  }
};
