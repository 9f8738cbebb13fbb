import { beforeEach, describe, expect, test } from 'vitest';
import type { NetworkModel } from '../../../../src/devnet/network-model.ts';
import {
  type AppRequestFields,
  type AppRequestJudge,
  createAppRequestJudge,
} from '../../../../src/devnet/node/app-request-judge.ts';
import { type BlockchainID, idBytes, P_CHAIN_ID, parseId } from '../../../../src/warp/ids.ts';
import { encodeSignatureRequest } from '../../../../src/warp/signature-request.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { readPeerTranscript } from '../../../vectors/vectors.ts';
import { testModel } from '../test-model.ts';

const SECOND = 1_000_000_000n;
const UNKNOWN_CHAIN = parseId<BlockchainID>('2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC', 'chain');

let model: NetworkModel;
let judge: AppRequestJudge;
beforeEach(() => {
  model = testModel();
  judge = createAppRequestJudge(model);
});

/** 'signed', the code of the refusal, or undefined if nothing is answered. */
function ask(chainID: BlockchainID, appBytes: Uint8Array, change: Partial<AppRequestFields> = {}): unknown {
  const request = { chainId: idBytes(chainID), requestId: 1, deadline: 5n * SECOND, appBytes, ...change };
  const verdict = judge.judge(request, (chain) => chain !== model.l1.blockchainID || change.requestId !== 99);
  return verdict?.kind === 'refuse' ? verdict.refusal.code : verdict && 'signed';
}

function requestFor({ bytes }: UnsignedMessage): Uint8Array {
  return encodeSignatureRequest({ message: bytes, justification: new Uint8Array() });
}

describe('a request', () => {
  const emitted = (): Uint8Array => requestFor(model.cChain.emit(Buffer.from('a')));
  const cChain = (): BlockchainID => model.cChain.blockchainID;

  test('is judged anew each time: what is emitted later is signed later', () => {
    const request = requestFor(model.cChain.prepare(Buffer.from('later')));
    expect(ask(cChain(), request)).toBe(3);
    model.cChain.emit(Buffer.from('later'));
    expect([ask(cChain(), request), ask(cChain(), request)]).toEqual(['signed', 'signed']);
  });

  test.each([
    ['to a chain nobody knows', () => ask(UNKNOWN_CHAIN, emitted())],
    ['to a chain the node does not run', () => ask(model.l1.blockchainID, emitted(), { requestId: 99 })],
    ['to no chain at all', () => ask(cChain(), emitted(), { chainId: new Uint8Array() })],
    ['with an even ID to an EVM chain', () => ask(cChain(), emitted(), { requestId: 2 })],
    ['without a deadline', () => ask(cChain(), emitted(), { deadline: 0n })],
    ['with a deadline that is negative as a signed number', () => ask(cChain(), emitted(), { deadline: 2n ** 63n })],
  ])('%s vanishes', (_, verdict) => {
    expect(verdict()).toBeUndefined();
  });

  test('with an even ID comes through to the P-Chain', () => {
    expect(ask(P_CHAIN_ID, Uint8Array.of(2), { requestId: 2 })).toBe(-1);
  });

  test.each([
    ['-2: no handler ID', () => ask(cChain(), new Uint8Array())],
    ['-2: an unknown handler', () => ask(cChain(), Uint8Array.of(99, 1))],
    ['-2: the X-Chain', () => ask(model.xChainID, emitted())],
    ['-1: no protobuf', () => ask(cChain(), Uint8Array.of(2, 255))],
    [
      '-1: no Warp message',
      () => ask(cChain(), encodeSignatureRequest({ message: Uint8Array.of(1), justification: new Uint8Array() })),
    ],
    ['-1: a block of the chain in a message of another chain', () => ask(cChain(), blockRequest(1337, UNKNOWN_CHAIN))],
    ['-1: a block of the chain in a message of another network', () => ask(cChain(), blockRequest(1, cChain()))],
  ])('%s', (name, code) => {
    expect(code()).toBe(Number.parseInt(name, 10));
  });

  function blockRequest(networkID: number, sourceChainID: BlockchainID): Uint8Array {
    const { payload } = model.cChain.acceptBlock(new Uint8Array(32).fill(3));
    return requestFor(createUnsignedMessage(networkID, sourceChainID, payload));
  }
});

describe('the requests of a session with a real node', () => {
  // Its chains are not ours, so that requests to EVM chains go to our L1; what it refused, ours refuses alike. Its C-Chain was that of
  // before Helicon, which refused with the codes of subnet-evm.
  const { frames, requests } = readPeerTranscript();
  const byID = (kind: string) =>
    new Map(
      frames.flatMap(({ decoded: { [kind]: body } }) => (body ? [[body['requestId'] as number, body] as const] : [])),
    );
  const asked = byID('appRequest');
  const refused = byID('appError');
  const cases = [...refused].map(([id, { errorCode }]) => ({ id, errorCode, name: requests.get(id) }));

  test.each(cases.filter(({ name }) => !/weight/.test(name ?? '')))('$name: $errorCode', ({ id, errorCode }) => {
    const { chainId, appBytes } = asked.get(id) as { chainId: string; appBytes: string };
    const isPlatform = Buffer.from(chainId, 'base64').every((byte) => byte === 0);
    const chain = isPlatform ? P_CHAIN_ID : model.l1.blockchainID;
    expect(ask(chain, Buffer.from(appBytes, 'base64'))).toBe(errorCode);
  });
});
