// The entry point of a thread. Plain JavaScript, so that the cache of compiled code is there before anything whose types are stripped.
import { enableCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';

if (workerData.compiledCode !== undefined) enableCompileCache(workerData.compiledCode);

await import('./bls-worker.ts');
