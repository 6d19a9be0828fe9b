/** Lunr with its defaults: any word, English stems. */
import lunr from 'lunr';

/** @param {{ id: string, text: string }[]} documents */
export function open(documents) {
  const index = lunr(function build() {
    this.ref('id');
    this.field('text');
    for (const each of documents) this.add(each);
  });
  // A query by `terms` has no syntax, unlike a text with a colon or an asterisk.
  return (query, limit) =>
    index
      .query((builder) => builder.term(lunr.tokenizer(query)))
      .slice(0, limit)
      .map(({ ref }) => ref);
}
