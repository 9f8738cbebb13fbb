/** A map that creates each value at the first access and keeps it. Bound: the number of the caller's keys. */
export class LazyMap<Key, Value extends object> {
  readonly #make: (key: Key) => Value;
  readonly #made = new Map<Key, Value>();

  constructor(make: (key: Key) => Value) {
    this.#make = make;
  }

  get(key: Key): Value {
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = this.#make(key);
    this.#made.set(key, made);
    return made;
  }
}
