import { zstdCompressSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import type { ValidatorAnswer } from '../../src/devnet/node/devnet-validator.ts';
import { seededBytes } from '../../src/devnet/seeded-random.ts';
import { MessageSchema } from '../../src/p2p/gen/p2p_pb.js';
import { encodeFrame, MAX_FRAME_LENGTH } from '../../src/p2p/wire/frames.ts';
import { encodeMessage } from '../../src/p2p/wire/messages.ts';
import { BLS_SIGNATURE_LENGTH } from '../../src/warp/bls-lengths.ts';
import { encodeSignatureResponse } from '../../src/warp/signature-request.ts';
import type { Behaviour } from './behaviour.ts';
import type { FaultyConnection } from './faulty-connection.ts';

const TRICKLE_MS = 1_000;
const GARBAGE_LENGTH = 64;
/** Thirty-two times the longest message; a few KiB compressed. */
const BOMB_BYTES = 64 * 1024 * 1024;
/** IDs of the first requests of a connection, as clients count them. */
const UNASKED_IDS = [1, 3, 5, 0, 2 ** 32 - 1];

let knownBomb: Uint8Array | undefined;

/** Sends the answer to a request, or what a fault makes of it. */
export function sendAnswer(channel: FaultyConnection, answer: ValidatorAnswer, behaviour: Behaviour): void {
  const frame = encodeAnswer(answer);
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all others answer as they should
  switch (behaviour.kind) {
    case 'answering twice':
      channel.write(frame);
      return channel.write(frame);
    case 'misnumbering':
      return channel.write(encodeAnswer(renumbered(answer, (answer.value.requestId ?? 0) + 2)));
    case 'unasked':
      for (const requestId of UNASKED_IDS) {
        if (requestId !== answer.value.requestId) channel.write(encodeAnswer(unasked(answer, requestId)));
      }
      return channel.write(frame);
    case 'oversized frame':
      return channel.write(announcing(MAX_FRAME_LENGTH + 1, frame));
    case 'unfinished frame':
      return channel.write(announcing(MAX_FRAME_LENGTH, frame));
    case 'garbage':
      return channel.write(encodeFrame(seededBytes(0, 'garbage', GARBAGE_LENGTH)));
    case 'compressed bomb':
      knownBomb ??= compressedBomb();
      return channel.write(knownBomb);
    case 'trickling':
      return trickle(channel, frame);
    case 'disconnecting':
      if (behaviour.when === 'before') return end(channel);
      return end(channel, behaviour.when === 'after' ? frame : frame.subarray(0, frame.length >> 1));
    default:
      return channel.write(frame);
  }
}

/** One byte at a time, and nothing else any more. */
function trickle(connection: FaultyConnection, bytes: Uint8Array): void {
  const socket = connection.takeSocket();
  const next = (index: number): void => {
    if (socket === undefined || index === bytes.length) return;
    socket.write(bytes.subarray(index, index + 1));
    connection.after(TRICKLE_MS, () => next(index + 1));
  };
  next(0);
}

/** Ends the connection once these bytes are on their way; at once where there are none. */
function end(connection: FaultyConnection, bytes?: Uint8Array): void {
  const close = (): void => connection.close('it ends here');
  const socket = connection.takeSocket();
  if (socket === undefined || bytes === undefined) close();
  else socket.end(bytes, close);
}

function encodeAnswer(answer: ValidatorAnswer): Uint8Array {
  return encodeFrame(encodeMessage(answer, 'zstd'));
}

function renumbered(answer: ValidatorAnswer, requestId: number): ValidatorAnswer {
  if (answer.case === 'appError') return { case: 'appError', value: { ...answer.value, requestId } };
  return { case: 'appResponse', value: { ...answer.value, requestId } };
}

function unasked({ value: { chainId } }: ValidatorAnswer, requestId: number): ValidatorAnswer {
  const appBytes = encodeSignatureResponse(new Uint8Array(BLS_SIGNATURE_LENGTH).fill(0xff));
  return { case: 'appResponse', value: { ...(chainId && { chainId }), requestId, appBytes } };
}

/** A frame whose header says another length than it has. */
function announcing(length: number, frame: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(frame);
  new DataView(bytes.buffer).setUint32(0, length);
  return bytes;
}

function compressedBomb(): Uint8Array {
  const value = new Uint8Array(zstdCompressSync(new Uint8Array(BOMB_BYTES)));
  return encodeFrame(toBinary(MessageSchema, create(MessageSchema, { message: { case: 'compressedZstd', value } })));
}
