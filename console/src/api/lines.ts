/** Returns a function that takes a text as it grows, and calls `onLine` for each further line of JSON in it. */
export function lineReader<Line>(onLine: (line: Line) => void): (text: string) => void {
  let start = 0;
  return (text) => {
    for (let end = text.indexOf('\n', start); end !== -1; end = text.indexOf('\n', start)) {
      onLine(JSON.parse(text.slice(start, end)));
      start = end + 1;
    }
  };
}
