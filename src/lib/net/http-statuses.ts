/** Whether the same request may succeed a moment later: the server failed or was too slow, or was asked too often. */
export function mayStatusPass(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}
