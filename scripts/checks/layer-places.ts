import { unplacedFolders } from '../layers.ts';
import { type CheckResult, sources } from './project.ts';

/** The layer rules themselves are part of the lint step; this one sees to it that no folder is without a rule. */
export function checkLayerPlaces(): CheckResult {
  const folders = new Set(
    sources.filter((file) => /^src\/.+\//.test(file)).map((file) => file.slice('src/'.length, file.lastIndexOf('/'))),
  );
  const unplaced = unplacedFolders([...folders]);
  return {
    ok: unplaced.length === 0 && folders.size > 0,
    summary: `${folders.size} folders of src have their place`,
    details: `no place in scripts/layers.ts: ${unplaced.map((folder) => `src/${folder}`).join(', ') || 'no folder found'}`,
  };
}
