import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Clock } from '../../lib/concurrency/clock.ts';

/** Bytes of a body that are read and dropped after the answer. */
const MAX_DROPPED_BYTES = 16 * 1024 * 1024;
/** Time without a byte, after which the connection is closed. */
const IDLE_MS = 1_000;

/**
 * Returns an answer that is sent at once and ends when the body of its request is over, or a bound is reached. The connection closes with the
 * end: earlier, the kernel would reset it, and a client that is still writing would lose the answer.
 */
export function answerBeforeBody(text: string, request: IncomingMessage, clock: Pick<Clock, 'after'>): Readable {
  const answer = new Readable({ read: () => undefined });
  answer.push(text);
  const end = (): void => {
    cancel();
    answer.push(null);
  };
  let cancel = clock.after(IDLE_MS, end);
  let dropped = 0;
  request.on('data', (piece: Buffer) => {
    cancel();
    dropped += piece.length;
    if (dropped > MAX_DROPPED_BYTES) end();
    else cancel = clock.after(IDLE_MS, end);
  });
  request.on('close', end);
  return answer;
}
