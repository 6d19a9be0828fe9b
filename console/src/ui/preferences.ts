import { effect, signal } from '@preact/signals';
import { isUtc } from '../text/zone.ts';

export const THEMES = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

export type Theme = (typeof THEMES)[number][0];

/** The color scheme. Like the time zone, it is kept in this browser. */
export const theme = signal<Theme>(
  THEMES.find(([name]) => name === localStorage.getItem('theme'))?.[0] ?? 'system',
);

effect(() => {
  document.documentElement.style.colorScheme = theme.value === 'system' ? '' : theme.value;
  localStorage.setItem('theme', theme.value);
});

isUtc.value = localStorage.getItem('zone') === 'utc';
effect(() => localStorage.setItem('zone', isUtc.value ? 'utc' : 'local'));
