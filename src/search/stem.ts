/** Returns what a folded word has in common with its other forms, as far as simple English endings go. */
export function stem(word: string): string {
  const base = withoutEnding(word);
  // The vowel that endings replace: `migrate`, `migrating`; `policy`, `policies`.
  return base.length > 4 && /[ey]$/.test(base) ? base.slice(0, -1) : base;
}

function withoutEnding(word: string): string {
  if (word.length < 4) return word;
  if (/.[^s]ie[sd]$/.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:x|z|ch|sh|ss)es$/.test(word)) return word.slice(0, -2);
  if (/[^sui]s$/.test(word)) return word.slice(0, -1);
  for (const ending of ['ing', 'ed']) {
    const rest = word.slice(0, -ending.length);
    const isForm = word.endsWith(ending) && rest.length >= 3 && /[aeiouy]/.test(rest) && !rest.endsWith('e');
    if (isForm) return rest.replace(/([bdfglmnprt])\1$/, '$1');
  }
  return word;
}
