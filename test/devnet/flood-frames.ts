import { randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { MessageSchema } from '../../src/p2p/gen/p2p_pb.js';
import { encodeFrame } from '../../src/p2p/wire/frames.ts';
import { encodeMessage, type PeerMessageInit } from '../../src/p2p/wire/messages.ts';

/** Just below the longest message. */
const LONG_BYTES = 2_000_000;
const CHUNK_BYTES = 64 * 1024;
const MAX_ADDRESSES = 64;
const CERTIFICATE_BYTES = 400;

/**
 * Returns messages that a client did not request and that cost it time: zstd frames of some hundred bytes and of 2 MB that expand to the
 * longest message, gossip, and addresses. Each chunk has whole frames.
 */
export function floodFrames(): readonly Uint8Array[] {
  made ??= makeFrames();
  return made;
}

/** Made once: it takes 60 ms, in which no validator of the process answers. */
let made: readonly Uint8Array[] | undefined;

function makeFrames(): readonly Uint8Array[] {
  const chainId = new Uint8Array(32);
  const gossip = (appBytes: Uint8Array): PeerMessageInit => ({ case: 'appGossip', value: { chainId, appBytes } });
  const claimedIpPorts = Array.from({ length: MAX_ADDRESSES }, () => ({
    x509Certificate: randomBytes(CERTIFICATE_BYTES),
    ipAddr: randomBytes(16),
    ipPort: 9_651,
    timestamp: 1n,
    signature: randomBytes(64),
    txId: randomBytes(32),
  }));
  return [
    repeated(zstdFrame(gossip(new Uint8Array(LONG_BYTES)))),
    zstdFrame(gossip(randomBytes(LONG_BYTES))),
    repeated(encodeFrame(encodeMessage(gossip(randomBytes(1_000))))),
    repeated(encodeFrame(encodeMessage({ case: 'peerList', value: { claimedIpPorts } }))),
  ];
}

function zstdFrame(message: PeerMessageInit): Uint8Array {
  const value = new Uint8Array(zstdCompressSync(encodeMessage(message)));
  return encodeFrame(toBinary(MessageSchema, create(MessageSchema, { message: { case: 'compressedZstd', value } })));
}

function repeated(frame: Uint8Array): Uint8Array {
  return Buffer.concat(new Array<Uint8Array>(Math.ceil(CHUNK_BYTES / frame.length)).fill(frame));
}
