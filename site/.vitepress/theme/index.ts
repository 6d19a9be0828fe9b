import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import HomeLayout from './HomeLayout.vue';
import MermaidDiagram from './MermaidDiagram.vue';
import './custom.css';

export default {
  extends: DefaultTheme,
  Layout: HomeLayout,
  enhanceApp({ app }) {
    app.component('MermaidDiagram', MermaidDiagram);
  },
} satisfies Theme;
