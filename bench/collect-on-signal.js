// node --expose-gc --import ./bench/collect-on-signal.js src/start.js: a service that collects its garbage whenever it gets SIGUSR2. Plain
// JavaScript, as the compiler that strips types would stay in memory.
import { isMainThread } from 'node:worker_threads';

// Threads are started with the same arguments, and get no signals.
if (isMainThread) {
  process.on('SIGUSR2', () => {
    globalThis.gc?.();
  });
}
