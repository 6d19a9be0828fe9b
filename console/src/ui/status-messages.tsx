import type { ComponentChildren } from 'preact';
import { ApiError, errorMessage } from '../api/api-client.ts';
import { waiting } from '../api/retry.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { IconButton } from './icon-button.tsx';
import { dismiss, toasts } from './toasts.ts';
import { useAction } from './use-load.ts';

export function ErrorText({ message }: { message: string | null }) {
  return message === null ? null : (
    <p class="notice error" role="alert">
      {message}
    </p>
  );
}

interface LoadErrorProps {
  error: unknown;
  onRetry?: () => void;
  /** Buttons beside the retry button. */
  children?: ComponentChildren;
}

/** The error after a failed load, with a retry button. */
export function LoadError({ error, onRetry, children }: LoadErrorProps) {
  return (
    <div class="notice error" role="alert">
      <p>{errorMessage(error)}</p>
      {error instanceof ApiError && error.requestId !== null && (
        <p class="muted small">
          Request <code>{error.requestId}</code>
        </p>
      )}
      {onRetry && <Button text="Try again" onClick={onRetry} />} {children}
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

/** Lines in place of a page's part, until the part loads. They appear only if the load takes longer than 150 ms. */
export function Loading({ what }: { what: string }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading {what}…</span>
    </div>
  );
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {waiting.value > 0 && (
        <div class="row toast">
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

interface ToastProps {
  text: string;
  undo: (() => Promise<void>) | undefined;
  onDone: () => void;
}

function ToastRow({ text, undo, onDone }: ToastProps) {
  const action = useAction();
  const run = () =>
    action.run(async () => {
      await undo?.();
      onDone();
    });
  return (
    <div class="row toast">
      <Icon name={action.error === null ? 'check' : 'warning'} />
      <span class="toast-text" title={text}>
        <bdi>{action.error ?? text}</bdi>
      </span>
      {undo && <Button text="Undo" disabled={action.isRunning} onClick={run} />}
      <IconButton icon="close" label="Dismiss" onClick={onDone} />
    </div>
  );
}
