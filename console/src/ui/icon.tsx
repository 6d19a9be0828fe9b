/** Paths on a 16 by 16 pixel grid, drawn as strokes. */
const SHAPES = {
  back: 'M10 3 5 8l5 5',
  chevron: 'm6 4 4 4-4 4',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 5v3l2 1.5',
  close: 'm4 4 8 8m0-8-8 8',
  compare: 'M5 2v12M2 5l3-3 3 3M11 14V2m3 9-3 3-3-3',
  down: 'm3.5 6 4.5 4.5L12.5 6',
  download: 'M8 2v8m0 0 3-3m-3 3L5 7M3 13h10',
  edit: 'm10.5 3 2.5 2.5L6 12.5 3 13l.5-3L10.5 3Z',
  file: 'M4 2h5l3 3v9H4V2Zm5 0v3h3',
  directory: 'M2 4h4l1.5 2H14v7H2V4Z',
  key: 'M10 9a3 3 0 1 0-2.8-2L3 11.2V13h2v-1.5h1.5V10L8 8.6A3 3 0 0 0 10 9Z',
  copy: 'M5.5 5.5h8v8h-8v-8Zm-2.5 5V2.5h8',
  more: 'M3.5 8h0M8 8h0M12.5 8h0',
  move: 'M2 8h10m0 0L8.5 4.5M12 8l-3.5 3.5M14 3v10',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  refresh: 'M13 8a5 5 0 1 1-1.6-3.7L13 6m0-3v3h-3',
  restore: 'M3 8a5 5 0 1 0 1.6-3.7L3 6m0-3v3h3',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.5-1.5L14 14',
  settings: 'M2 5h7m4 0h1M2 11h1m4 0h7M9 3v4h4V3H9ZM3 9v4h4V9H3Z',
  tenants: 'M2 3h12v3.5H2V3Zm0 6.5h12V13H2V9.5ZM4.5 4.8h0M4.5 11.2h0',
  trash: 'M3 4h10M6 4V2.5h4V4M4.5 4 5 13.5h6l.5-9.5',
  up: 'm3.5 10.5L8 6l4.5 4.5',
  upload: 'M8 10V2m0 0L5 5m3-3 3 3M3 13h10',
  warning: 'M8 2 1.5 13.5h13L8 2Zm0 5v3m0 2v0',
} as const;

export type IconName = keyof typeof SHAPES;

/** A decorative icon. The text beside it must give the same information. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={SHAPES[name]} />
    </svg>
  );
}
