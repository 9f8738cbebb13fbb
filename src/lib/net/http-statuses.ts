/** Returns whether the same request may succeed later: the server failed, was too slow, or limits requests. */
export function mayStatusPass(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}
