import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../../scripts/checks/project.ts';
import { dependenciesOfLock, type Lock, type Manifest } from '../../../scripts/docs/dependencies.ts';
import { billOfMaterials } from '../../../scripts/sbom.ts';

test('the bill of materials has every package that is installed with the service, and no other', () => {
  const read = (file: string): unknown => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
  const expected = dependenciesOfLock(read('package.json') as Manifest, read('package-lock.json') as Lock).dependencies;
  const { components, dependencies } = billOfMaterials();
  const found = new Set(components.map(({ name, version }) => `${name} ${version}`));
  expect([...found].toSorted()).toEqual(expected.map(({ name }) => name).toSorted());
  const references = new Set(components.map((component) => component['bom-ref']));
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((one) => !references.has(one))).toEqual([]);
});
