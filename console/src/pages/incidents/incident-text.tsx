import { TextArea } from '../../ui/fields.tsx';

interface Props {
  text: string;
  /** Whether the tab knows the job's text. Otherwise, the user types the text again. */
  isKnown: boolean;
  onInput: (text: string) => void;
}

/** Field for an incident's text. The service deletes the text when the job ends. */
export const IncidentText = ({ text, isKnown, onInput }: Props) => (
  <TextArea
    label="Text"
    hint={!isKnown && 'The service has deleted the text of the job. Type the text again.'}
    rows={2}
    spellcheck={false}
    autofocus={!isKnown}
    value={text}
    onChange={onInput}
  />
);
