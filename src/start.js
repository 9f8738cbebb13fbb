// The entry point. main.ts is imported only after the version is known to be able to run TypeScript.
import './require-node.js';

await import('./main.ts');
