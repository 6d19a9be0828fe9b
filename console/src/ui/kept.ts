import { effect, type Signal, signal } from '@preact/signals';

/**
 * Creates a signal whose value survives a tab reload. The value is written to session storage when the page is hidden,
 * because a write on each key press would be slow.
 *
 * @param name key in session storage; another format for the value needs another name
 */
export function keptSignal<T extends object>(name: string): Signal<T | null> {
  const stored = sessionStorage.getItem(name);
  const kept = signal<T | null>(stored === null ? null : JSON.parse(stored));
  const write = () => {
    try {
      if (kept.value !== null) sessionStorage.setItem(name, JSON.stringify(kept.value));
    } catch {
      // The value is larger than the browser's quota. The browser has asked before it left the page.
    }
  };
  addEventListener('pagehide', write);
  document.addEventListener('visibilitychange', () => document.hidden && write());
  effect(() => {
    if (kept.value === null) sessionStorage.removeItem(name);
  });
  return kept;
}
