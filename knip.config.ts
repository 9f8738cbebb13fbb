import type { KnipConfig } from 'knip';

const config: KnipConfig = {
  // Those ending in ! are the program itself; the rest is what develops it.
  entry: [
    'src/{main.ts,start.js}!',
    'src/bls/service/bls-worker.ts!',
    'src/console/page/app.tsx!',
    'bench/*.ts',
    'src/client/package-entry.ts!',
    'examples/*.ts',
    'scripts/{bundle-page,check,generate,pictures,settings-docs}.ts',
    'test/**/*.test.ts',
  ],
  project: ['src/**/*.{ts,tsx,js}!', 'bench/**/*.ts', 'examples/*.ts', 'scripts/**/*.ts', 'test/**/*.ts'],
  // Every message of the protocol is generated, whether or not its parts are named elsewhere.
  ignore: ['src/*/gen/**'],
  // Callers may name the types in the signature of an exported function.
  ignoreExportsUsedInFile: { interface: true, type: true },
  // Not from npm: what builds the real nodes of test/network, a terminal for tests, and what checks the unit of systemd.
  ignoreBinaries: ['go', 'script', 'systemd-analyze'],
};

export default config;
