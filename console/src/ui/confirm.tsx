import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { CopyAs, type Requests } from './copy-as.tsx';
import { Modal } from './modal.tsx';

export interface Question {
  title: string;
  text: ComponentChildren;
  /** Label for the confirm button. */
  verb: string;
  /** Label for the cancel button. */
  otherwise?: string;
  isDangerous?: boolean;
  /** The action's requests, which the dialog offers as commands. */
  request?: Requests;
}

const asked = signal<{
  question: Question;
  answer: Promise<boolean>;
  respond: (yes: boolean) => void;
} | null>(null);

/** Asks a question in a dialog. While a dialog is open, another call returns the open dialog's result. */
export function confirm(question: Question): Promise<boolean> {
  if (asked.value !== null) return asked.value.answer;
  let respond = (_yes: boolean) => {};
  const answer = new Promise<boolean>((resolve) => {
    respond = (yes) => {
      asked.value = null;
      resolve(yes);
    };
  });
  asked.value = { question, answer, respond };
  return answer;
}

/** Question before unsaved input is discarded. */
export const DISCARD: Question = {
  title: 'Discard your changes?',
  text: 'They are not saved.',
  verb: 'Discard',
  otherwise: 'Keep editing',
  isDangerous: true,
};

/** Buttons of a question before results are lost. */
export const LEAVE = { verb: 'Leave', otherwise: 'Stay', isDangerous: true };

/** Renders the open question from `confirm`. */
export function Questions() {
  if (asked.value === null) return null;
  const { question, respond } = asked.value;
  const { title, text, verb, otherwise = 'Cancel', isDangerous = false, request } = question;
  return (
    <Modal title={title} onClose={() => respond(false)}>
      <div class="dialog-body">{typeof text === 'string' ? <p>{text}</p> : text}</div>
      <footer>
        {request && <CopyAs request={request} />}
        <Button text={otherwise} autofocus onClick={() => respond(false)} />
        <Button text={verb} class={isDangerous ? 'danger' : 'primary'} onClick={() => respond(true)} />
      </footer>
    </Modal>
  );
}
