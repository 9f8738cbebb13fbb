import { inject } from 'vitest';
import { buildChartTools } from './chart-tools.ts';
import { buildNetworkBinaries } from './network-binaries.ts';
import { buildReference } from './reference-process.ts';

// The tests that need no Go come first, and wait for processes most of the time.
if (inject('isWholeRun'))
  for (const build of [buildNetworkBinaries, buildReference, buildChartTools]) build().catch(() => undefined);
