import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../primitives/clock.ts';

/** Says whether others use the same identity, as far as one way of looking can tell. */
export interface IdentityUse extends AsyncDisposable {
  /**
   * Says that we use it, and looks for others. To be called every {@link LOOK_INTERVAL_MS}. Never rejects.
   *
   * @returns who else does, in words for the log; undefined where nobody is seen
   */
  look(): Promise<string | undefined>;
}

export const LOOK_INTERVAL_MS = 5_000;
/** A process that has not said for so long that it uses the identity has ended: three times it would have said so. */
export const USE_LAPSES_MS = 3 * LOOK_INTERVAL_MS;
/** Marks that nobody renews are removed after this long, as their processes were killed. */
const MARK_REMOVED_MS = 60_000;
/** More marks than this are not looked at: of a dozen processes under one identity, two are too many already. */
const MAX_MARKS = 16;
const MAX_MARK_BYTES = 1_000;
const MARK = /^in-use\.[\w-]{1,64}$/;

export interface FolderUseOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** Unlike that of any other process. */
  readonly replica: string;
  /** Who we are, in words for the log of the other. */
  readonly description: string;
}

interface Mark {
  readonly text: string;
  readonly changedMs: number;
  /** It was seen to change: somebody renews it. */
  readonly isRenewed: boolean;
}

/**
 * Each process has a mark of its own in the folder, a file that it rewrites. A mark of another that changes is of one that runs. So
 * nothing is ever locked that a crash could leave locked, and neither process IDs nor clocks are compared, which differ between
 * containers and machines that share the folder.
 */
export class IdentityFolderUse implements IdentityUse {
  readonly #options: FolderUseOptions;
  readonly #own: string;
  #looks = 0;
  #isClosed = false;
  #marks = new Map<string, Mark>();

  constructor(options: FolderUseOptions) {
    this.#options = options;
    this.#own = `in-use.${options.replica}`;
  }

  async look(): Promise<string | undefined> {
    if (this.#isClosed) return undefined;
    const { directory, description } = this.#options;
    this.#looks += 1;
    try {
      await writeFile(join(directory, this.#own), `${description}\n${this.#looks}\n`, { mode: 0o600 });
    } catch {
      // A folder that can only be read, as that of a secret: others cannot be told, but may be seen.
    }
    return this.#lookForOthers();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await rm(join(this.#options.directory, this.#own), { force: true }).catch(() => undefined);
  }

  async #lookForOthers(): Promise<string | undefined> {
    const { directory, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const names = (await readdir(directory).catch(() => [])).filter((name) => MARK.test(name) && name !== this.#own);
    const marks = new Map<string, Mark>();
    for (const name of names.slice(0, MAX_MARKS)) {
      const mark = await this.#read(name, nowMs);
      if (mark !== undefined) marks.set(name, mark);
    }
    this.#marks = marks;
    const others = [...marks.values()].filter(
      ({ isRenewed, changedMs }) => isRenewed && nowMs - changedMs < USE_LAPSES_MS,
    );
    const [first] = others;
    return first && (first.text.split('\n')[0] ?? '');
  }

  async #read(name: string, nowMs: number): Promise<Mark | undefined> {
    const path = join(this.#options.directory, name);
    const before = this.#marks.get(name);
    try {
      if ((await stat(path)).size > MAX_MARK_BYTES) return undefined;
      const text = await readFile(path, 'utf8');
      if (before === undefined) return { text, changedMs: nowMs, isRenewed: false };
      // It is being written just now.
      if (text === '') return before;
      if (text !== before.text) return { text, changedMs: nowMs, isRenewed: true };
      if (nowMs - before.changedMs < MARK_REMOVED_MS) return before;
      await rm(path, { force: true });
    } catch {
      // It is gone, or nobody may read it.
    }
    return undefined;
  }
}
