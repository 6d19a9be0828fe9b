import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { ApiError, messageOf } from '../api/client.ts';
import { waiting } from '../api/retry.ts';
import { Icon } from './icon.tsx';
import { useAction } from './use-load.ts';

export function ErrorText({ message }: { message: string | null }) {
  return message === null ? null : (
    <p class="notice error" role="alert">
      {message}
    </p>
  );
}

/** The error of a failed load, with a retry button. */
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
/** Long enough to read the message and to reconsider the change. */
const UNDO_SHOWN_MS = 60_000;

interface Toast {
  id: number;
  text: string;
  undo: (() => Promise<void>) | undefined;
}
const toasts = signal<Toast[]>([]);
let lastToast = 0;

/**
 * Shows a message for some seconds.
 *
 * @param undo action of the undo button; throws an error whose message is shown to the user
 */
export function toast(text: string, undo?: () => Promise<void>): void {
  const id = ++lastToast;
  toasts.value = [...toasts.value, { id, text, undo }];
  setTimeout(() => dismiss(id), undo ? UNDO_SHOWN_MS : SHOWN_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {waiting.value > 0 && (
        <div class="toast">
          <span class="spinner" aria-hidden="true" />
          <span class="toast-text">The service is busy. Trying again…</span>
        </div>
      )}
      {toasts.value.map(({ id, text, undo }) => (
        <ToastRow key={id} text={text} undo={undo} onDone={() => dismiss(id)} />
      ))}
    </div>
  );
}

function ToastRow({ text, undo, onDone }: Pick<Toast, 'text' | 'undo'> & { onDone: () => void }) {
  const action = useAction();
  const run = () =>
    action.run(async () => {
      await undo?.();
      onDone();
    });
  return (
    <div class="toast">
      <Icon name={action.error === null ? 'check' : 'warning'} />
      <span class="toast-text" title={text}>
        {action.error ?? text}
      </span>
      {undo && (
        <button type="button" disabled={action.isRunning} onClick={run}>
          Undo
        </button>
      )}
      <button type="button" class="icon-button" aria-label="Dismiss" onClick={onDone}>
        <Icon name="close" />
      </button>
    </div>
  );
}
