// node scripts/sbom.ts: prints what is installed with the service, by the lock file, as a bill of materials in CycloneDX's form.

import { execFileSync } from 'node:child_process';
import { ROOT } from './checks/project.ts';

/** The fields that are read; all others stay as npm writes them. */
interface BillOfMaterials {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/** npm's own `--omit=dev` is not used: it leaves out what a package of development needs too, such as Fastify's ajv. */
export function billOfMaterials(): BillOfMaterials {
  const text = execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return withoutDevelopment(JSON.parse(text) as BillOfMaterials);
}

function withoutDevelopment(bill: BillOfMaterials): BillOfMaterials {
  const development = new Set(bill.components.filter(isOfDevelopment).map((component) => component['bom-ref']));
  return {
    ...bill,
    components: bill.components.filter((component) => !isOfDevelopment(component)),
    dependencies: bill.dependencies
      .filter(({ ref }) => !development.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => !development.has(other)) })),
  };
}

function isOfDevelopment({ properties = [] }: Component): boolean {
  return properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
}

if (import.meta.main) console.log(JSON.stringify(billOfMaterials(), undefined, 2));
