import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { ApiError, messageOf } from '../api/client.ts';
import { Icon } from './icon.tsx';

export function ErrorText({ message }: { message: string | null }) {
  return message === null ? null : (
    <p class="notice error" role="alert">
      {message}
    </p>
  );
}

/** What could not be loaded, and why. */
export function LoadError({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div class="notice error" role="alert">
      <p>{messageOf(error)}</p>
      {error instanceof ApiError && error.requestId !== null && (
        <p class="muted small">
          Request <code>{error.requestId}</code>
        </p>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> Loading {what}…
    </p>
  );
}

const SHOWN_MS = 8000;
const toasts = signal<{ id: number; text: string }[]>([]);
let lastToast = 0;

/** Says what was done, for a while. */
export function toast(text: string): void {
  const id = ++lastToast;
  toasts.value = [...toasts.value, { id, text }];
  setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, text }) => (
        <p key={id} class="toast">
          <Icon name="check" />
          <span>{text}</span>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </p>
      ))}
    </div>
  );
}
