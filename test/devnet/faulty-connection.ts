import type { TLSSocket } from 'node:tls';
import { ValidatorConnection } from '../../src/devnet/node/validator-connection.ts';

const IDLE_CHECK_MS = 30_000;

/** A connection that can be frozen, and whose socket can be taken over. */
export class FaultyConnection extends ValidatorConnection {
  #isFrozen = false;
  #isTaken = false;
  #isFlooding = false;

  /** Stops reading and writing, as a process that was stopped. */
  freeze(): void {
    this.#isFrozen = true;
    this.tls?.pause();
  }

  /** Continues with the data that arrived in the meantime. */
  thaw(): void {
    if (!this.#isFrozen || this.isClosed) return;
    this.#isFrozen = false;
    if (this.tls === undefined) this.startTls();
    else this.tls.resume();
  }

  override startTls(): void {
    if (!this.#isFrozen) super.startTls();
  }

  override write(bytes: Uint8Array): void {
    if (!this.#isFrozen && !this.#isTaken) super.write(bytes);
  }

  /** Hands out the socket, to which the connection writes nothing any more; undefined if there is none, or it was taken. */
  takeSocket(): TLSSocket | undefined {
    if (this.isClosed || this.#isTaken) return undefined;
    this.#isTaken = true;
    return this.tls;
  }

  /** Writes these bytes again and again, as fast as the peer reads, until `isOver`. */
  flood(chunks: readonly Uint8Array[], isOver: () => boolean): void {
    const { tls } = this;
    if (this.#isFlooding || tls === undefined) return;
    this.#isFlooding = true;
    let count = 0;
    const next = (): void => {
      if (this.isClosed) return;
      this.#isFlooding = !isOver();
      if (!this.#isFlooding) return;
      count += 1;
      // Other connections are served between two writes.
      tls.write(chunks[count % chunks.length] ?? new Uint8Array(), () => this.after(0, next));
    };
    next();
  }

  /** A stopped process disconnects no peer; data that arrived meanwhile counts when it runs again. */
  protected override checkIdle(): void {
    if (this.#isFrozen) this.after(IDLE_CHECK_MS, () => this.checkIdle());
    else super.checkIdle();
  }
}
