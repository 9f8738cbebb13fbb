/** The folders of src from the bottom up. A folder imports from those of lower rows only; the files of src itself tie them together. */
const LEVELS: readonly (readonly string[])[] = [
  ['primitives'],
  ['lib'],
  ['telemetry', 'warp'],
  ['bls'],
  ['validators'],
  ['store'],
  ['pchain', 'p2p'],
  ['aggregator', 'upstream'],
  ['network'],
  ['api', 'devnet'],
  ['console'],
];

/** Deeper folders are refused by unplacedFolders, so that no file escapes the rules written for each depth. */
const MAX_DEPTH = 3;

interface Place {
  /** Other folders of src that this one may import from. */
  readonly folders: readonly string[];
  /** Files of src itself that it may import. */
  readonly files?: readonly string[];
}

const PLACES: ReadonlyMap<string, Place> = new Map<string, Place>([
  ...LEVELS.flat().map((folder) => [folder, { folders: levelsBelow(folder) }] as const),
  // Opens everything else by the settings of one network, and so knows their types.
  ['network', { folders: [...levelsBelow('network'), 'config'] }],
  // Stands aside: whoever else needs a setting is handed it by src/app.ts, so that no layer knows the whole configuration.
  ['config', { folders: ['primitives'] }],
  // On top of everything: the commands, which src/main.ts alone knows of.
  ['cli', { folders: [...LEVELS.flat(), 'config'], files: ['app.ts'] }],
]);

function levelsBelow(folder: string): string[] {
  return LEVELS.slice(
    0,
    LEVELS.findIndex((level) => level.includes(folder)),
  ).flat();
}

/** The environment is read in src/config only; node/no-process-env does not see it when it is imported. */
const ENVIRONMENT_IMPORTS = ['process', 'node:process'].map((name) => ({
  name,
  importNames: ['env', 'default'],
  message: 'Only src/config reads the environment.',
}));

/** Simulated time cannot hold back what goes around the clock. */
const TURN_IMPORTS = ['timers', 'node:timers', 'timers/promises', 'node:timers/promises'].map((name) => ({
  name,
  importNames: ['setImmediate', 'default'],
  message: 'Turns of the event loop are taken through Clock.afterTurn.',
}));

/** Types may be: they are not there when it runs. */
const HTTP_IMPORTS = [
  { name: 'node:http', allowTypeImports: true, message: 'It is imported through src/lib/net/node-http.ts.' },
];

const METRIC_IMPORTS = [{ name: 'prom-client', message: 'Metrics are declared through src/telemetry/metrics.ts.' }];
/** For src/api and src/console, where the registry is read by /metrics and by the console. */
const REGISTRY_IMPORTS = METRIC_IMPORTS.map((path) => ({
  ...path,
  allowImportNames: ['Registry'],
}));

/** A path that goes down and up again would hide from the patterns below where it ends. */
const DETOUR = { regex: '[^./][^/]*/\\.\\./', message: 'Write the shortest path.' };

/** oxlint's overrides for the import rules: everything that climbs to src or above it is refused but the folders named. */
export function layerOverrides() {
  const overrides = [...PLACES].flatMap(([folder, { folders, files = [] }]) =>
    Array.from({ length: MAX_DEPTH }, (_, index) => {
      const toSrc = '../'.repeat(index + 1);
      const allowed = [...folders, ...files];
      const reason = `src/${folder} may import ${allowed.length > 0 ? `from ${allowed.join(', ')}` : 'nothing'} of src outside itself.`;
      const climbing = {
        group: [
          `${toSrc}**`,
          ...folders.map((name) => `!${toSrc}${name}/**`),
          ...files.map((name) => `!${toSrc}${name}`),
        ],
        message: reason,
      };
      return importRule([`src/${folder}${'/*'.repeat(index)}/*.{ts,js}`], importsOf(folder), [DETOUR, climbing]);
    }),
  );
  const aboveSrc = { group: ['../test/**', '../bench/**', '../scripts/**'], message: 'src imports only from src.' };
  const commands = { group: ['./cli/**'], message: 'Only src/main.ts knows of the commands.' };
  const ownMetrics = { group: ['../**', '!../primitives/**'], message: 'src/telemetry may import from primitives.' };
  return [
    ...overrides,
    importRule(['src/telemetry/metrics.ts'], [...ENVIRONMENT_IMPORTS, ...TURN_IMPORTS], [DETOUR, ownMetrics]),
    importRule(
      ['src/*.{ts,js}'],
      [...ENVIRONMENT_IMPORTS, ...TURN_IMPORTS, ...METRIC_IMPORTS],
      [DETOUR, aboveSrc, commands],
    ),
    importRule(
      ['src/app.ts'],
      [...ENVIRONMENT_IMPORTS, ...TURN_IMPORTS, ...REGISTRY_IMPORTS],
      [DETOUR, aboveSrc, commands],
    ),
    importRule(['src/main.ts'], [...ENVIRONMENT_IMPORTS, ...TURN_IMPORTS, ...METRIC_IMPORTS], [DETOUR, aboveSrc]),
  ];
}

/** What a folder may not import from elsewhere than src. */
function importsOf(folder: string): object[] {
  return [
    ...TURN_IMPORTS,
    ...HTTP_IMPORTS,
    ...(folder === 'config' ? [] : ENVIRONMENT_IMPORTS),
    ...(folder === 'api' || folder === 'console' ? REGISTRY_IMPORTS : METRIC_IMPORTS),
  ];
}

/** In patterns the first one that lets a path through ends the search, so DETOUR stands before the others. */
function importRule(files: string[], paths: object[], patterns: object[]) {
  return { files, rules: { 'no-restricted-imports': ['error', { paths, patterns }] as ['error', object] } };
}

/** The folders among those given (relative to src, with forward slashes) that no rule speaks of. */
export function unplacedFolders(folders: readonly string[]): string[] {
  return folders.filter((folder) => {
    const segments = folder.split('/');
    return !PLACES.has(segments[0] ?? '') || segments.length > MAX_DEPTH;
  });
}
