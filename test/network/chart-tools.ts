import { join } from 'node:path';
import { goBuild } from './go-build.ts';

/** Builds helm, and our own program that decodes manifests. */
export async function buildChartTools(): Promise<{ readonly helm: string; readonly manifests: string }> {
  const folder = await goBuild('go-chart', ['helm.sh/helm/v3/cmd/helm', './cmd/manifests']);
  return { helm: join(folder, 'helm'), manifests: join(folder, 'manifests') };
}
