import { LAYERS } from '../layers.ts';

/** The layers from the top down, one line for each, with rows of one first-level folder joined. */
export function layerPicture(): string {
  const lines: string[] = [];
  for (const row of LAYERS.toReversed()) {
    const folders = row.filter((folder) => !folder.endsWith('/gen'));
    if (folders.length === 0) continue;
    const [top = ''] = (folders[0] ?? '').split('/');
    const parts = [...new Set(folders.flatMap((folder) => folder.split('/')[1] ?? []))].join(' ');
    const name = top === '' ? 'main.ts' : top;
    const last = lines.at(-1);
    if (last?.startsWith(`${name} `) === true) lines[lines.length - 1] = `${last}${parts === '' ? '' : ` → ${parts}`}`;
    else lines.push(`${name} `.padEnd(14) + parts);
  }
  return lines.map((line) => line.trimEnd()).join('\n');
}
