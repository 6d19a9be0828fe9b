/** The options of a `<select>`: what is shown, by value. */
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
