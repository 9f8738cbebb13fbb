#!/usr/bin/env node
// The entry point. main.ts is imported only under a Node that is known to be able to run TypeScript.
import module from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { findNewerNode, isNewEnough, runUnder } from './newer-node.js';

const newerNode = isNewEnough(process.versions.node) ? undefined : findNewerNode();
if (newerNode === undefined) {
  // Says what to do where this one is too old after all.
  await import('./require-node.js');

  // Node keeps what it compiled, types already stripped, and a start that finds it need not load the compiler that strips them: 20 MB
  // in each thread. In the folder of the code itself, as whoever may write there decides anyway what runs; in a shared temporary
  // folder others could leave code. Where it cannot be written, all goes on without. NODE_COMPILE_CACHE names another folder, and
  // NODE_DISABLE_COMPILE_CACHE=1 is none.
  module.enableCompileCache(join(import.meta.dirname, '..', '.cache', 'compiled'));

  // Nearly all that the start makes stays: a young generation that grew for it would only be in the way of memory. See young-heap.ts
  // for what comes later.
  setFlagsFromString('--semi-space-growth-factor=1');
  // In the busy seconds of the start V8 takes some kinds of objects for long-lived, and from then on puts those of every request
  // into the old space at once: there they keep all that they refer to until the next full collection, and a scavenge takes 10 to
  // 40 ms instead of 0.3 (`--trace-gc` under load shows it).
  setFlagsFromString('--no-allocation-site-pretenuring');
  // What is read from sockets lies outside the heap, and has a limit of its own of some MB: long answers of upstreams would bring
  // a full collection each few dozen requests. Counted together with the heap it brings them as seldom as anything else.
  setFlagsFromString('--external-memory-accounted-in-global-limit');
  // A young generation of a few MB is collected in a millisecond by one thread. V8 would wake a helper for each MB of it, as many as
  // there are cores and more, which costs the requests of a busy machine more than it saves.
  setFlagsFromString('--no-parallel-scavenge');
  await import('./main.ts');
} else {
  await runUnder(newerNode);
}
