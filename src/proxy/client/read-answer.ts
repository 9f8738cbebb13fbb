import type { Readable } from 'node:stream';
import { GrowingBuffer } from '../../lib/encoding/growing-buffer.ts';

/** A longer body is streamed, which bounds the memory of each connection. */
const MAX_WHOLE_BYTES = 256 * 1024;

/**
 * Reads a body of up to {@link MAX_WHOLE_BYTES} whole. A longer one is returned as a stream with all of its bytes, which has to be read to
 * the end or destroyed.
 *
 * @param length of the body, if it is known
 */
export function readAnswer(body: Readable, length: number): Promise<Buffer | Readable> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | Readable>();
  // Copied, because Node's own object for each chunk, however small, takes some 250 bytes.
  const bytes = new GrowingBuffer(length <= MAX_WHOLE_BYTES ? length : 0);
  const onReadable = (): void => {
    for (let chunk: Buffer | null = body.read(); chunk !== null; chunk = body.read()) {
      bytes.append(chunk);
      if (bytes.length <= MAX_WHOLE_BYTES) continue;
      stop();
      body.unshift(bytes.take());
      // Handles an error after the reader has gone.
      body.on('error', () => undefined);
      resolve(body);
      return;
    }
  };
  const onEnd = (): void => {
    stop();
    resolve(bytes.take());
  };
  const onError = (error: Error): void => {
    stop();
    // Destroying the body may report more than one error.
    body.on('error', () => undefined);
    reject(error);
  };
  const stop = (): void => {
    body.off('readable', onReadable).off('end', onEnd).off('error', onError);
  };
  body.on('readable', onReadable).on('end', onEnd).on('error', onError);
  return promise;
}
