import { afterAll, describe, expect, test } from 'vitest';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import {
  type BlockchainID,
  idFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type ValidationID,
} from '../../../src/warp/ids.ts';
import { encodeL1Message } from '../../../src/warp/l1-message.ts';
import { FUJI } from '../../../src/warp/networks.ts';
import { encodeTeleporterMessage } from '../../../src/warp/teleporter-message.ts';
import { reply, startStandIn } from '../proxy/stand-in.ts';
import type { Answer } from './running-service.ts';
import { shareService } from './shared-service.ts';

const service = await shareService(8);
const { chains, subnets } = service.devnet;
const { l1, primary } = subnets;
const PATH = '/v1/signatureAggregator/fuji';
const UNKNOWN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(9), 'chain');

/** Its chains' RPC of the strict chain does as the test says. */
const rpc = await startStandIn();
const withRpc = await service.another({
  network: {
    chainRpc: { [l1.strictBlockchainID]: { baseUrl: `${rpc.baseUrl}/rpc` } },
    defaultDestination: 'teleporter',
  },
});
afterAll(async () => {
  await withRpc[Symbol.asyncDispose]();
  await rpc[Symbol.asyncDispose]();
});

let count = 0;
const newMessage = (chain: 'C' | 'L1' = 'C'): string =>
  bytesToHex(chains[chain].emit(Buffer.from(`for a destination ${(count += 1)}`)).bytes);
const teleporterTo = (destinationBlockchainID: BlockchainID): Uint8Array =>
  encodeTeleporterMessage({
    kind: 'TeleporterMessage',
    messageNonce: BigInt((count += 1)),
    requiredGasLimit: 1n,
    message: Buffer.from('hello'),
    destinationBlockchainID,
    originSenderAddress: new Uint8Array(20),
    destinationAddress: new Uint8Array(20),
    allowedRelayerAddresses: [],
    receipts: [],
  });
const codes = ({ body }: Answer): unknown[] => ((body['warnings'] ?? []) as { code: string }[]).map(({ code }) => code);
const signed = async (body: object, at: Pick<typeof service, 'post'> = service): Promise<Answer> => {
  const answer = await at.post(body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer;
};
const judged = async ({ body }: Answer, more: object = {}): Promise<Answer['body']> =>
  (await service.post({ signedMessage: body['signedMessage'], ...more }, `${PATH}/verify`)).body;

/** The P-Chain's confirmation that a validator of the L1 was registered. */
const ofPChain = service.devnet.examples('fuji').find(({ name }) => name === 'P-Chain message for the L1')
  ?.body?.message;

describe('with a destination', () => {
  test.each([
    ['C-Chain', () => newMessage(), l1.blockchainID, l1.subnetID, 'destination_subnet', 67],
    ['C-Chain, strict', () => newMessage(), l1.strictBlockchainID, PRIMARY_NETWORK_ID, 'primary_network', 80],
    ['P-Chain', () => ofPChain, l1.blockchainID, l1.subnetID, 'destination_subnet', 67],
    ['P-Chain, strict', () => ofPChain, l1.strictBlockchainID, l1.subnetID, 'destination_subnet', 80],
    ['L1', () => newMessage('L1'), l1.strictBlockchainID, l1.subnetID, 'source_subnet', 80],
    ['L1 to the C-Chain', () => newMessage('L1'), primary.cChainID, l1.subnetID, 'source_subnet', 67],
  ] as const)(
    'the validators that it accepts sign with its quorum: %s',
    async (_, message, to, signer, rule, quorum) => {
      const answer = await signed({ message: message(), destinationBlockchainId: to });
      const { signedWeight, totalWeight, epoch, pChainHeight } = answer.body;
      expect(answer.body).toMatchObject({ signingSubnetId: signer, epoch: { pChainHeight } });
      expect(Object.keys(epoch as object)).toEqual(['number', 'pChainHeight', 'startTime', 'endTime']);
      expect(codes(answer)).toEqual([]);
      expect(BigInt(String(signedWeight)) * 100n).toBeGreaterThanOrEqual(BigInt(quorum) * BigInt(String(totalWeight)));
      expect(await judged(answer, { destinationBlockchainId: to })).toMatchObject({
        isValid: true,
        signingRule: rule,
        signingSubnetId: signer,
        quorumPercentage: quorum,
        destinationBlockchainId: to,
      });
    },
  );

  test('other signers that the request names are signed for, and the answer and verify say that it refuses them', async () => {
    const to = { destinationBlockchainId: l1.blockchainID };
    const answer = await signed({ message: newMessage(), ...to, signingSubnetId: PRIMARY_NETWORK_ID });
    expect(answer.body).toMatchObject({ signingSubnetId: PRIMARY_NETWORK_ID });
    expect(codes(answer)).toEqual(['signers_refused']);
    expect(await judged(answer, to)).toMatchObject({ isValid: false, signingSubnetId: l1.subnetID });
    // A cached result has its own warnings for each request.
    const { message } = { message: newMessage() };
    const own = await signed({ message, signingSubnetId: l1.subnetID });
    expect(codes(own)).toEqual([]);
    const strict = { destinationBlockchainId: l1.strictBlockchainID, quorumPercentage: 67 };
    expect(codes(await signed({ message, signingSubnetId: l1.subnetID, ...strict }))).toEqual(['signers_refused']);
  });

  test('a lower quorum and an older height that the request names are warned of', async () => {
    const to = { destinationBlockchainId: l1.strictBlockchainID };
    const low = await signed({ message: newMessage(), ...to, quorumPercentage: 20 });
    expect(codes(low)).toEqual(['quorum_too_low']);
    const older = await signed({
      message: newMessage('L1'),
      ...to,
      pChainHeight: l1.olderHeight,
      quorumPercentage: 80,
    });
    expect(older.body).toMatchObject({ pChainHeight: l1.olderHeight, epoch: { number: expect.any(Number) } });
    expect(codes(older)).toEqual(['set_differs_from_epoch']);
    expect(await judged(older, to)).toMatchObject({ isValid: false });
    expect(await judged(older, { ...to, pChainHeight: l1.olderHeight })).toMatchObject({
      isValid: true,
      warnings: [{ code: 'set_differs_from_epoch' }],
    });
  });

  test('an unknown blockchain is an error that names the field', async () => {
    const { status, body } = await service.post({ message: newMessage(), destinationBlockchainId: UNKNOWN });
    expect([status, body['code'], body['message']]).toEqual([
      400,
      'invalid_request',
      expect.stringMatching(
        `^destinationBlockchainId: the P-Chain knows no blockchain ${UNKNOWN} \\(0x[0-9a-f]{64}\\)$`,
      ),
    ]);
  });

  test.each([
    [l1.subnetID, 'it is the ID of a subnet; name one of its blockchains'],
    [FUJI.cChainID, 'it is the C-Chain of fuji'],
  ])('a destination %s is explained: %s', async (destinationBlockchainId, hint) => {
    const { status, body } = await service.post({ message: newMessage(), destinationBlockchainId });
    expect([status, body['message']]).toEqual([400, expect.stringContaining(hint)]);
  });
});

describe('a configuration that cannot be read', () => {
  const to = { destinationBlockchainId: l1.strictBlockchainID };

  test('and decides who signs: the error names both choices, which may be made', async () => {
    rpc.behaviour = reply(404, 'not here');
    const { status, body } = await withRpc.post({ message: newMessage(), ...to });
    expect([status, body['code']]).toEqual([400, 'invalid_request']);
    expect(body['message']).toMatch(/^signingSubnetId: the warp config/);
    for (const subnetID of [l1.subnetID, PRIMARY_NETWORK_ID]) expect(body['message']).toContain(subnetID);
    const named = await signed({ message: newMessage(), ...to, signingSubnetId: PRIMARY_NETWORK_ID }, withRpc);
    expect(codes(named)).toEqual(['config_unreadable']);
  });

  test('and decides nothing: 67 % and a warning', async () => {
    for (const message of [newMessage('L1'), ofPChain]) {
      const answer = await signed({ message, ...to }, withRpc);
      expect(answer.body).toMatchObject({ signingSubnetId: l1.subnetID });
      expect(codes(answer)).toEqual(['config_unreadable']);
    }
  });
});

describe('a Teleporter message', () => {
  test('is signed for its destination by EVM hash, unless the request names something else', async () => {
    const { hash } = chains.C.transact([teleporterTo(l1.blockchainID)]);
    const answer = await service.get(`${PATH}/aggregateSignatures/${hash}`);
    expect(answer.body).toMatchObject({ signingSubnetId: l1.subnetID, epoch: {} });
    expect(await judged(answer)).toMatchObject({ isValid: true, signingRule: 'destination_subnet' });
    const elsewhere = await service.get(`${PATH}/aggregateSignatures/${hash}?destinationBlockchainId=${P_CHAIN_ID}`);
    expect(elsewhere.body).toMatchObject({ signingSubnetId: PRIMARY_NETWORK_ID });
  });

  test('to a blockchain that does not exist is signed by the source, with a warning', async () => {
    const { hash } = chains.C.transact([teleporterTo(UNKNOWN)]);
    const answer = await service.get(`${PATH}/aggregateSignatures/${hash}`);
    expect(answer.body).toMatchObject({ signingSubnetId: PRIMARY_NETWORK_ID });
    expect(codes(answer)).toEqual(['unknown_destination']);
  });

  test('of a POST follows the specification, and is warned of once its destination is known', async () => {
    const emit = () => bytesToHex(chains.C.emit(teleporterTo(l1.blockchainID)).bytes);
    await signed({ message: newMessage(), destinationBlockchainId: l1.blockchainID });
    const message = emit();
    // The second one is cached.
    for (let time = 0; time < 2; time += 1) {
      const answer = await signed({ message });
      expect(answer.body).toMatchObject({ signingSubnetId: PRIMARY_NETWORK_ID });
      expect(answer.body).not.toHaveProperty('epoch');
      expect(codes(answer)).toEqual(['signers_refused']);
    }
    const go = await service.post({ message }, '/fuji/aggregate-signatures');
    expect(Object.keys(go.body)).toEqual(['signed-message']);
    // The other service has the setting defaultDestination.
    expect((await signed({ message: emit() }, withRpc)).body).toMatchObject({ signingSubnetId: l1.subnetID });
    const named = await signed({ message: emit(), quorumPercentage: 67 }, withRpc);
    expect(named.body).toMatchObject({ signingSubnetId: PRIMARY_NETWORK_ID });
  });
});

test('messages of the P-Chain that were signed by transaction are verified for the chain of the validator manager', async () => {
  const byTransaction = service.devnet.examples('fuji').filter(({ name }) => name.startsWith('by transaction'));
  expect(byTransaction.length).toBeGreaterThan(3);
  for (const { path } of byTransaction) {
    const answer = await service.get(path);
    expect(answer.status).toBe(201);
    expect(await judged(answer)).toMatchObject({
      isValid: true,
      signingRule: 'destination_subnet',
      signingSubnetId: l1.subnetID,
      destinationBlockchainId: l1.blockchainID,
    });
  }
});

test("a validator manager's message is signed and judged for the P-Chain's epoch", async () => {
  const validationID = idFromBytes<ValidationID>(new Uint8Array(32).fill(7), 'validation');
  const payload = encodeL1Message({ kind: 'L1ValidatorWeight', validationID, nonce: 1n, weight: 5n });
  const message = bytesToHex(chains.L1.emit(payload).bytes);
  const answer = await signed({ message });
  const { pChainHeight } = answer.body;
  expect(answer.body).toMatchObject({ signingSubnetId: l1.subnetID, epoch: { pChainHeight } });
  expect(codes(answer)).toEqual([]);
  expect(await judged(answer)).toMatchObject({
    isValid: true,
    destinationBlockchainId: P_CHAIN_ID,
    epoch: { pChainHeight },
  });
});

describe('GET …/destinations/{blockchainId}', () => {
  const of = (chainID: string, at: Pick<typeof service, 'get'> = service) => at.get(`${PATH}/destinations/${chainID}`);

  test('says before a message is sent who signs it, with which quorum, and at which height', async () => {
    const { status, body } = await of(l1.blockchainID);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      blockchainId: l1.blockchainID,
      subnetId: l1.subnetID,
      quorumPercentage: 67,
      requirePrimaryNetworkSigners: false,
      signers: [
        { sources: 'p_chain', signingRule: 'destination_subnet', signingSubnetId: l1.subnetID },
        { sources: 'c_and_x_chain', signingRule: 'destination_subnet', isProposedSetDifferent: false },
        { sources: 'other_chains', signingRule: 'source_subnet' },
      ],
      epoch: { number: expect.any(Number), pChainHeight: expect.any(Number), startTime: expect.any(Number) },
      proposedPChainHeight: expect.any(Number),
      delivery: { form: 'access_list', precompileAddress: '0x0200000000000000000000000000000000000005' },
    });
    expect(body).not.toHaveProperty('warnings');
    const strict = await of(l1.strictBlockchainID);
    expect(strict.body).toMatchObject({
      quorumPercentage: 80,
      requirePrimaryNetworkSigners: true,
      signers: [{ signingSubnetId: l1.subnetID }, { signingRule: 'primary_network' }, {}],
    });
    expect((await of(P_CHAIN_ID)).body).toMatchObject({ delivery: { form: 'p_chain_transaction' } });
  });

  test('a configuration that cannot be read leaves the signers of the C-Chain open', async () => {
    rpc.behaviour = reply(404, 'not here');
    const { status, body } = await of(l1.strictBlockchainID, withRpc);
    expect([status, body['quorumPercentage']]).toEqual([200, 67]);
    expect(body['signers']).toMatchObject([{ signingSubnetId: l1.subnetID }, { sources: 'c_and_x_chain' }, {}]);
    expect((body['signers'] as object[])[1]).toEqual({ sources: 'c_and_x_chain' });
    expect(body).toMatchObject({ warnings: [{ code: 'config_unreadable' }] });
  });

  test('an unknown blockchain is 404', async () => {
    const { status, body } = await of(UNKNOWN);
    expect([status, body['code'], body['message']]).toEqual([
      404,
      'unknown_blockchain',
      `blockchainId: the P-Chain knows no blockchain ${UNKNOWN}`,
    ]);
  });
});
