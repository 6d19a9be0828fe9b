import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { Layout } from './home.ts';
import MermaidDiagram from './MermaidDiagram.vue';
import './custom.css';

export default {
  extends: DefaultTheme,
  Layout,
  enhanceApp({ app }) {
    app.component('MermaidDiagram', MermaidDiagram);
  },
} satisfies Theme;
