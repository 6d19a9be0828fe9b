/**
 * A map for entries that come and go with each request. V8 may keep what a `Map` held until the next full collection, long after it was
 * deleted (docs/decisions/0011-short-lived-entries.md). Here a deleted entry lets go of its value.
 */
export class ShortLivedMap<Key, Value> {
  readonly #entries = new Map<Key, { value: Value | undefined }>();

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: Key, value: Value): void {
    const entry = this.#entries.get(key);
    if (entry) entry.value = value;
    else this.#entries.set(key, { value });
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.value = undefined;
    this.#entries.delete(key);
  }
}
