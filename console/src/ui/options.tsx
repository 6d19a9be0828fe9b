/** Options of a `<select>`, from a map of values to labels. */
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
