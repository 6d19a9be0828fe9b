import { signal } from '@preact/signals';

/** Whether the palette is open. */
export const isPaletteOpen = signal(false);

/** Opens the palette with Ctrl+K or ⌘K, unless a dialog is open. */
export function onPaletteKey(event: KeyboardEvent): void {
  const { key, altKey, shiftKey, ctrlKey, metaKey } = event;
  if (key.toLowerCase() !== 'k' || altKey || shiftKey || !(ctrlKey || metaKey)) return;
  event.preventDefault();
  if (document.querySelector('dialog[open]') === null) isPaletteOpen.value = true;
}
