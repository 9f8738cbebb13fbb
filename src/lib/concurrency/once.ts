/** Returns a function that calls `make` at its first call and then returns the same value. A failure is not kept: `make` is called again. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    if (made === undefined) {
      const own = { value: make() };
      made = own;
      if (own.value instanceof Promise) {
        own.value.catch(() => {
          if (made === own) made = undefined;
        });
      }
    }
    return made.value;
  };
}
