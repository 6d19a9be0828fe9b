/** MiniSearch with its defaults: any word, BM25+. */
import MiniSearch from 'minisearch';

/** @param {{ id: string, text: string }[]} documents */
export function open(documents) {
  const index = new MiniSearch({ fields: ['text'] });
  index.addAll(documents);
  return (query, limit) =>
    index
      .search(query)
      .slice(0, limit)
      .map(({ id }) => id);
}
