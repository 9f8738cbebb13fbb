/** One Ctrl-C arrives twice under npm: the terminal sends it to npm and to the service, and npm passes its own on. */
const SAME_KEY_PRESS_MS = 1_000;

/** Returns a function that decides what the next SIGINT does. @param now a monotonic time in milliseconds */
export function createInterrupt(now: () => number): () => 'stop' | 'ignore' | 'exit' {
  let firstMs: number | undefined;
  return () => {
    if (firstMs !== undefined) return now() - firstMs < SAME_KEY_PRESS_MS ? 'ignore' : 'exit';
    firstMs = now();
    return 'stop';
  };
}
