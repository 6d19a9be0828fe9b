import { withBase } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import dark from '../../../docs/images/console-history-dark.png';
import light from '../../../docs/images/console-past-light.png';

/** Adds a console picture to the home page. */
export const Layout = () => h(DefaultTheme.Layout, null, { 'home-hero-after': consolePicture });

// The browser does not load a hidden picture that is lazy.
const picture = (scheme: string, src: string, alt: string) =>
  h('img', { class: scheme, src, alt, width: 1280, height: 800, loading: 'lazy' });

const consolePicture = () =>
  h('a', { class: 'home-picture', href: withBase('/console') }, [
    picture('light', light, 'The console shows a memory at a past time, with a time slider'),
    picture('dark', dark, 'The console shows the history, with the lines that a change replaced'),
  ]);
