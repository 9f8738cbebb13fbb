/** Whether the same request may succeed a moment later: the server failed, was too slow, or is asked too often. */
export function mayStatusPass(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}
