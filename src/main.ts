import packageJson from '../package.json' with { type: 'json' };
import { run } from './cli/run.ts';

// While Node cleans up after the last event, signals have their default actions again: a repeated SIGTERM would end the process, and its
// exit code would be lost. An explicit exit skips that.
process.once('beforeExit', () => process.exit());
process.exitCode = await run(process.argv.slice(2), packageJson.version);
