/** The folders of src from the bottom up. A folder imports from those of lower rows only; the files of src itself tie them together. */
const LEVELS: readonly (readonly string[])[] = [
  ['primitives'],
  ['telemetry', 'warp'],
  ['bls'],
  ['validators'],
  ['pchain', 'p2p', 'store'],
  ['aggregator', 'upstream'],
  ['api', 'devnet'],
];

/** Beside the files of src itself, which tie everything together: may import all of src, and only src/main.ts imports it. */
const ON_TOP = ['cli'];

/** Deeper folders are refused by unplacedFolders, so that no file escapes the rules written for each depth. */
const MAX_DEPTH = 3;

/** For each folder of src, the other folders of src that it may import from. */
const MAY_IMPORT: ReadonlyMap<string, readonly string[]> = new Map([
  ...LEVELS.flatMap((level, index) => level.map((folder) => [folder, LEVELS.slice(0, index).flat()] as const)),
  // Stands aside: whoever needs a setting is handed it by src/app.ts, so that no layer knows the whole configuration.
  ['config', ['primitives']],
]);

/** The environment is read in src/config only; node/no-process-env does not see it when it is imported. */
const ENVIRONMENT_IMPORTS = ['process', 'node:process'].map((name) => ({
  name,
  importNames: ['env', 'default'],
  message: 'Only src/config reads the environment.',
}));

/** A path that goes down and up again would hide from the patterns below where it ends. */
const DETOUR = { regex: '[^./][^/]*/\\.\\./', message: 'Write the shortest path.' };

/** oxlint's overrides for the import rules: everything that climbs to src or above it is refused but the folders named. */
export function layerOverrides() {
  const overrides = [...MAY_IMPORT].flatMap(([folder, allowed]) =>
    Array.from({ length: MAX_DEPTH }, (_, index) => {
      const toSrc = '../'.repeat(index + 1);
      const reason = `src/${folder} may import ${allowed.length > 0 ? `from ${allowed.join(', ')}` : 'nothing'} of src outside itself.`;
      return {
        files: [`src/${folder}${'/*'.repeat(index)}/*.{ts,js}`],
        rules: {
          'no-restricted-imports': restrictedImports(folder === 'config' ? [] : ENVIRONMENT_IMPORTS, [
            // First: a path that a group lets through is not held against what follows.
            DETOUR,
            { group: [`${toSrc}**`, ...allowed.map((name) => `!${toSrc}${name}/**`)], message: reason },
          ]),
        },
      };
    }),
  );
  const aboveSrc = (up: string) => ({
    group: ['test', 'bench', 'scripts'].map((folder) => `${up}${folder}/**`),
    message: 'src imports only from src.',
  });
  return [
    ...overrides,
    {
      files: ['src/*.{ts,js}'],
      rules: { 'no-restricted-imports': restrictedImports(ENVIRONMENT_IMPORTS, [DETOUR, aboveSrc('../')]) },
    },
    {
      files: ON_TOP.map((folder) => `src/${folder}/*.{ts,js}`),
      rules: { 'no-restricted-imports': restrictedImports(ENVIRONMENT_IMPORTS, [DETOUR, aboveSrc('../../')]) },
    },
  ];
}

function restrictedImports(paths: object[], patterns: object[]): ['error', object] {
  return ['error', { paths, patterns }];
}

/** The folders among those given (relative to src, with forward slashes) that no rule speaks of. */
export function unplacedFolders(folders: readonly string[]): string[] {
  return folders.filter((folder) => {
    const segments = folder.split('/');
    if (ON_TOP.includes(folder)) return false;
    return !MAY_IMPORT.has(segments[0] ?? '') || segments.length > MAX_DEPTH;
  });
}
