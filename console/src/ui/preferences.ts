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

/** Keeps a preference in this browser, unless it is the default. */
function keep(name: string, value: string, initial: string): void {
  if (value === initial) localStorage.removeItem(name);
  else localStorage.setItem(name, value);
}

effect(() => {
  document.documentElement.style.colorScheme = theme.value === 'system' ? '' : theme.value;
  keep('theme', theme.value, 'system');
});

isUtc.value = localStorage.getItem('zone') === 'utc';
effect(() => keep('zone', isUtc.value ? 'utc' : 'local', 'local'));
