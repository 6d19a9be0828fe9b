/**
 * Returns a parser for a growing text of JSON lines. Each call passes the whole text so far; `onLine` gets each new
 * line.
 */
export function lineReader<Line>(onLine: (line: Line) => void): (text: string) => void {
  let start = 0;
  return (text) => {
    for (let end = text.indexOf('\n', start); end !== -1; end = text.indexOf('\n', start)) {
      onLine(JSON.parse(text.slice(start, end)));
      start = end + 1;
    }
  };
}
