/** Adds to one of many counts. Those of 0 are not kept, as keys are as many as there are clients, subnets or chains. */
export function addTo<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
