#!/usr/bin/env node
// The entry point. main.ts is imported only under a Node that is known to be able to run TypeScript.
import module from 'node:module';
import { join } from 'node:path';
import { endWithLauncher, findNewerNode, isNewEnough, runUnder } from './newer-node.js';

const newerNode = isNewEnough(process.versions.node) ? undefined : findNewerNode();
if (newerNode === undefined) {
  endWithLauncher();
  // Fails with advice if this Node is too old.
  await import('./require-node.js');

  // Node keeps what it compiled, types already stripped, and a start that finds it need not load the compiler that strips them: 20 MB
  // in each thread. It is beside the code, because a user who can write there decides anyway what runs; in a shared temporary folder
  // others could leave code. If it cannot be written, the start continues without it. NODE_COMPILE_CACHE names another folder, and
  // NODE_DISABLE_COMPILE_CACHE=1 disables it.
  module.enableCompileCache(join(import.meta.dirname, '..', '.cache', 'compiled'));
  await import('./main.ts');
} else {
  await runUnder(newerNode);
}
