import { readFileSync } from 'node:fs';

/** Returns how many files this process may open (Node raises it to the hard limit); undefined on systems other than Linux, and if there is none. */
export function readFileLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
