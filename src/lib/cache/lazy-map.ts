/** A map whose values are made when they are first asked for, and stay. Bound: the number of keys that whoever asks has. */
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
