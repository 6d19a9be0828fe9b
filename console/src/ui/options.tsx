/** Options for a `<select>`, from a map with a label for each value. */
export function Options({ texts }: { texts: Record<string, string> }) {
  return (
    <>
      {Object.entries(texts).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </>
  );
}
