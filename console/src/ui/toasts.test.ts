import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { dismiss, dismissDone, toast, toasts } from './toasts.ts';

const shownTexts = () => toasts.value.map(({ text }) => text);
const undo = async () => {};

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

it('shows at most five messages, and removes messages that offer no undo first', () => {
  toast('Deleted a.', undo);
  for (let i = 1; i <= 6; i++) toast(`Saved ${i}.`);
  expect(shownTexts()).toStrictEqual(['Deleted a.', 'Saved 3.', 'Saved 4.', 'Saved 5.', 'Saved 6.']);
  for (let i = 1; i <= 6; i++) toast(`Deleted ${i}.`, undo);
  expect(shownTexts()).toStrictEqual(['Deleted 2.', 'Deleted 3.', 'Deleted 4.', 'Deleted 5.', 'Deleted 6.']);
});

it('removes success messages when the next action starts, except messages that offer an undo', () => {
  toast('Imported 3 files.');
  toast('Deleted a.', undo);
  dismissDone();
  expect(shownTexts()).toStrictEqual(['Deleted a.']);
});

it('removes a message after some seconds, or when the user dismisses it', () => {
  toast('Saved.');
  toast('Deleted a.', undo);
  vi.advanceTimersByTime(8000);
  expect(shownTexts()).toStrictEqual(['Deleted a.']);
  dismiss(toasts.value[0]?.id ?? 0);
  expect(shownTexts()).toStrictEqual([]);
});
