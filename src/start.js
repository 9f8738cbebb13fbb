// The entry point.
import './require-node.js';
import module from 'node:module';
import { join } from 'node:path';

// Node keeps what it compiled, types already stripped, and a start that finds it need not load the compiler that strips them: 20 MB
// in each thread. It is beside the code, because a user who can write there decides anyway what runs; in a shared temporary folder
// others could leave code. If it cannot be written, the start continues without it. NODE_COMPILE_CACHE names another folder, and
// NODE_DISABLE_COMPILE_CACHE=1 disables it.
module.enableCompileCache(join(import.meta.dirname, '..', '.cache', 'compiled'));
// Only under a Node that runs TypeScript.
await import('./main.ts');
