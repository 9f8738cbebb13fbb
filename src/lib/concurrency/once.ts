/** A function that makes its value when it is first called, and then always returns it. One that throws, or rejects, is called again. */
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
