import { effect } from '@preact/signals';
import { session, signedOutBecause } from '../../api/session-state.ts';
import { keptSignal } from '../../ui/kept.ts';
import { ALL, type Choice } from './choice.ts';
import { EMPTY, type FormInput } from './form-input.ts';

/** Most jobs whose texts and choices are kept. */
const MAX_JOBS = 20;

interface Kept {
  form: FormInput;
  /** Texts by job. The service deletes a job's text when the job ends. */
  texts: Record<string, string>;
  choices: Record<string, Choice>;
}

const NOTHING: Kept = { form: EMPTY, texts: {}, choices: {} };

/** Kept state, which survives a tab reload. A text is never in the URL, because the text may be a secret. */
const kept = keptSignal<Kept>('incident');
const read = () => kept.value ?? NOTHING;

export const currentForm = () => read().form;
export const keptText = (job: string): string | undefined => read().texts[job];
export const keptChoice = (job: string): Choice => read().choices[job] ?? ALL;

export function changeForm(changes: Partial<FormInput>): void {
  kept.value = { ...read(), form: { ...currentForm(), ...changes } };
}

/** Starts with an empty form, except for the given fields. */
export function newForm(fields: Partial<FormInput>): void {
  kept.value = { ...read(), form: { ...EMPTY, ...fields } };
}

export function keepText(job: string, text: string): void {
  kept.value = { ...read(), texts: limitJobs({ ...read().texts, [job]: text }) };
}

export function choose(job: string, choice: Choice): void {
  kept.value = { ...read(), choices: limitJobs({ ...read().choices, [job]: choice }) };
}

/** Keeps the entries that were added last. */
function limitJobs<T>(byJob: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(byJob).slice(-MAX_JOBS));
}

let wasSignedIn = false;
effect(() => {
  // A session that ended by itself keeps the input for the next sign-in. "Sign out" deletes the texts.
  if (session.value === null && wasSignedIn && signedOutBecause.value === null) kept.value = null;
  wasSignedIn = session.value !== null;
});
