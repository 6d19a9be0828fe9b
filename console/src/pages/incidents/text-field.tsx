interface Props {
  text: string;
  /** Whether the tab knows the job's text. Otherwise, the user types the text again. */
  isKnown: boolean;
  onInput: (text: string) => void;
}

/** Field for an incident's text. The service deletes the text when the job ends. */
export function TextField({ text, isKnown, onInput }: Props) {
  return (
    <label>
      Text
      <textarea
        rows={2}
        spellcheck={false}
        autofocus={!isKnown}
        value={text}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {!isKnown && (
        <span class="hint">The service has deleted the text of the job. Type the text again.</span>
      )}
    </label>
  );
}
