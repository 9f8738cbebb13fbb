/** Adds to the count of a key. Counts of 0 are removed, so that the map has no more keys than are in use. */
export function addTo<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
