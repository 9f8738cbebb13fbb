import { readFileSync } from 'node:fs';
import { hexToBytes } from '@noble/hashes/utils.js';

/** One session of another client with a real node, as recorded in the vectors. */
export interface TranscriptFrame {
  readonly dir: 'in' | 'out';
  readonly payload: Uint8Array;
  /** The message in the JSON form of protobuf. */
  readonly decoded: Record<string, Record<string, unknown>>;
  readonly decompressed: Uint8Array | undefined;
}

interface TranscriptFile {
  readonly clientCertDERHex: string;
  readonly clientBLSPublicKey: string;
  readonly serverCertDERHex: string;
  readonly frames: readonly {
    dir: 'in' | 'out';
    frameHex: string;
    decoded: TranscriptFrame['decoded'];
    decompressedHex?: string;
  }[];
}

export function readTranscript() {
  const url = new URL('../../vectors/p2p_transcript.json', import.meta.url);
  const file = JSON.parse(readFileSync(url, 'utf8')) as TranscriptFile & Record<string, unknown>;
  return {
    file,
    frames: file.frames.map((frame) => ({
      dir: frame.dir,
      payload: hexToBytes(frame.frameHex),
      decoded: frame.decoded,
      decompressed: frame.decompressedHex === undefined ? undefined : hexToBytes(frame.decompressedHex),
    })),
  };
}
