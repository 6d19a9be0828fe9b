import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { IconButton } from './icon-button.tsx';

interface Props<Row> {
  title: string;
  /** Noun for a row. With its number, it names the row's fields. */
  noun: string;
  /** Label for the button that adds a row. */
  verb: string;
  rows: readonly Row[];
  newRow: Row;
  max: number;
  /** Renders a row's two fields. */
  fields: (row: Row, name: string, onChange: (changes: Partial<Row>) => void) => ComponentChildren;
  onChange: (rows: Row[]) => void;
  /** Hint below the rows. */
  children?: ComponentChildren;
}

/** Rows with two fields each, which the user adds and removes. */
export function FieldRows<Row>(props: Props<Row>) {
  const { title, noun, verb, rows, newRow, max, fields, onChange, children } = props;
  return (
    <fieldset class="rows">
      <legend>{title}</legend>
      {rows.map((row, index) => {
        const name = `${noun} ${index + 1}`;
        const change = (changes: Partial<Row>) =>
          onChange(rows.map((each, i) => (i === index ? { ...each, ...changes } : each)));
        return (
          // A row has no other identity while its first field is typed.
          <div class="pair" key={index}>
            {fields(row, name, change)}
            <IconButton
              icon="close"
              label={`Remove ${name}`}
              class="quiet"
              onClick={() => onChange(rows.filter((_, i) => i !== index))}
            />
          </div>
        );
      })}
      {rows.length < max && (
        <Button icon="plus" text={verb} class="quiet" onClick={() => onChange([...rows, newRow])} />
      )}
      {children}
    </fieldset>
  );
}
