import { expect, test } from 'vitest';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import type { Blockchain, Subnet } from '../../../../src/pchain/rpc/node-api.ts';
import { createSubnetDirectory, type SubnetDirectoryOptions } from '../../../../src/pchain/state/subnet-directory.ts';
import {
  type BlockchainID,
  idFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
} from '../../../../src/warp/ids.ts';
import { FUJI, MAINNET } from '../../../../src/warp/networks.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { readTransaction } from '../../../vectors/vectors.ts';

const SIGNAL = new AbortController().signal;
const L1 = idFromBytes<SubnetID>(new Uint8Array(32).fill(1), 'subnetID');
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(2), 'blockchainID');
const refusal = (code: number) => new ApiError('rejected', 'refused', { rejection: { code, message: 'not found' } });
const NOT_FOUND = refusal(-32_000);
/** A transaction with the fields of one that creates a chain, as far as they are read. */
const CREATION = readTransaction('ConvertSubnetToL1Tx').bytesWithChecksum.slice(0, -4);
new DataView(CREATION.buffer, CREATION.byteOffset).setUint32(2, 15);
const CREATED_FOR = 'BKBZ6xXTnT86B4L5fp8rvtcmNSpvtNz8En9jG61ywV2uWyeHy' as SubnetID;
const REFUSED = new ApiError('method_refused', 'the method does not exist');
const SUBNET: Subnet = { conversionID: undefined, managerChainID: undefined };

interface Answers {
  validatedBy: SubnetID | Error;
  getSubnet: Subnet | Error;
  getTx: Uint8Array | Error;
  getBlockchains: readonly Blockchain[] | Error;
}

/** A directory whose node answers with these values, or throws them. */
function start(given: Partial<Answers>, networkID = 1337) {
  const answers: Answers = {
    validatedBy: NOT_FOUND,
    getSubnet: NOT_FOUND,
    getTx: NOT_FOUND,
    getBlockchains: [],
    ...given,
  };
  const clock = new FakeClock();
  const asked: string[] = [];
  const answer = async <T>(id: string, value: T): Promise<Exclude<T, Error>> => {
    asked.push(id);
    if (value instanceof Error) throw value;
    return value as Exclude<T, Error>;
  };
  const api: SubnetDirectoryOptions['api'] = {
    validatedBy: (id) => answer(id, id === CHAIN || answers.validatedBy === REFUSED ? answers.validatedBy : NOT_FOUND),
    getSubnet: (id) => answer(id, answers.getSubnet),
    getTx: (id) => answer(`getTx ${id}`, answers.getTx),
    getBlockchains: () => answer('getBlockchains', answers.getBlockchains),
  };
  const directory = createSubnetDirectory({ api, networkID, clock });
  return {
    clock,
    asked,
    directory,
    answers,
    validatedBy: (id = CHAIN) => directory.validatedBy(id, SIGNAL),
    getSubnet: () => directory.getSubnet(L1, SIGNAL),
    exists: () => directory.exists(L1, SIGNAL),
  };
}

test('the P-Chain and the primary network need no call', async () => {
  const { directory, asked } = start({ validatedBy: NOT_FOUND, getSubnet: NOT_FOUND });
  expect(await directory.validatedBy(P_CHAIN_ID, SIGNAL)).toBe(PRIMARY_NETWORK_ID);
  expect(await directory.exists(PRIMARY_NETWORK_ID, SIGNAL)).toBe(true);
  expect(await directory.getSubnet(PRIMARY_NETWORK_ID, SIGNAL)).toMatchObject({ conversionID: undefined });
  expect(asked).toEqual([]);
});

test('the subnet of a blockchain is cached, and an unknown blockchain for three seconds', async () => {
  const { clock, asked, directory, answers, validatedBy, exists } = start({
    validatedBy: NOT_FOUND,
    getSubnet: NOT_FOUND,
  });
  expect(await validatedBy()).toBeUndefined();
  answers.validatedBy = L1;
  await clock.advance(2_999);
  expect(await validatedBy()).toBeUndefined();
  expect([directory.knownSubnetOf(CHAIN), asked.length]).toEqual([undefined, 1]);
  await clock.advance(1);
  expect(await Promise.all([validatedBy(), validatedBy()])).toEqual([L1, L1]);
  expect([await exists(), directory.knownSubnetOf(CHAIN), asked.length]).toEqual([true, L1, 2]);
});

test('the existence of a subnet is cached, and an unknown subnet for three seconds', async () => {
  const { clock, asked, directory, answers, getSubnet, exists } = start({ validatedBy: L1, getSubnet: NOT_FOUND });
  expect(await exists()).toBe(false);
  answers.getSubnet = SUBNET;
  await clock.advance(2_999);
  expect([await getSubnet(), directory.isKnown(L1), asked.length]).toEqual([undefined, false, 1]);
  await clock.advance(1);
  expect([await exists(), await exists(), directory.isKnown(L1), asked.length]).toEqual([true, true, true, 2]);
});

test('a subnet is known through its chain, also after a negative entry', async () => {
  const { answers, validatedBy, getSubnet, exists } = start({ validatedBy: L1, getSubnet: NOT_FOUND });
  expect(await exists()).toBe(false);
  answers.getSubnet = SUBNET;
  await validatedBy();
  expect(await getSubnet()).toEqual(SUBNET);
});

test('the conversion of a subnet is noticed and cached', async () => {
  const { asked, answers, getSubnet } = start({ validatedBy: L1, getSubnet: SUBNET });
  expect(await getSubnet()).toEqual(SUBNET);
  const converted = { ...SUBNET, conversionID: new Uint8Array(32).fill(3) };
  answers.getSubnet = converted;
  expect([await getSubnet(), await getSubnet()]).toEqual([converted, converted]);
  expect(asked).toHaveLength(2);
});

test('unknown chains do not evict existing ones, and 10,000 of them are kept', async () => {
  const { asked, validatedBy } = start({ validatedBy: L1, getSubnet: SUBNET });
  const unknown = Array.from({ length: 10_050 }, (_, index) => `chain ${index}` as BlockchainID);
  for (const chainID of [CHAIN, ...unknown]) await validatedBy(chainID);
  asked.length = 0;
  for (const chainID of [CHAIN, ...unknown.slice(-10_000)]) await validatedBy(chainID);
  expect(asked).toEqual([]);
  await validatedBy(unknown[0]);
  expect(asked).toEqual([unknown[0]]);
});

test('only the error of a method means that an ID is unknown', async () => {
  const failures = [refusal(-32_602), new ApiError('unavailable', 'no answer')];
  for (const failure of failures) {
    const { validatedBy, exists } = start({ validatedBy: failure, getSubnet: failure });
    await expect(validatedBy()).rejects.toBe(failure);
    await expect(exists()).rejects.toBe(failure);
  }
});

test.each([MAINNET, FUJI])(
  'the C- and the X-Chain of $name need no call',
  async ({ networkID, cChainID, xChainID }) => {
    const { directory, asked } = start({}, networkID);
    expect([cChainID, xChainID].map(directory.knownSubnetOf)).toEqual([PRIMARY_NETWORK_ID, PRIMARY_NETWORK_ID]);
    expect(await directory.validatedBy(cChainID, SIGNAL)).toBe(PRIMARY_NETWORK_ID);
    expect(asked).toEqual([]);
    expect(start({}).directory.knownSubnetOf(cChainID)).toBeUndefined();
  },
);

test('an API without validatedBy is asked for the transaction that created the chain', async () => {
  const { asked, validatedBy } = start({ validatedBy: REFUSED, getTx: CREATION });
  expect([await validatedBy(), await validatedBy()]).toEqual([CREATED_FOR, CREATED_FOR]);
  expect(asked).toEqual([CHAIN, `getTx ${CHAIN}`]);
});

test.each([
  ['that does not serve it', REFUSED],
  ['that has another transaction', Buffer.from('000000000022', 'hex')],
  ['that has a transaction of a newer format', Buffer.from('00010000000f', 'hex')],
])('after an API %s, the list of all blockchains is read, once a minute', async (_, getTx) => {
  const list = [{ blockchainID: CHAIN, subnetID: L1 }];
  const { clock, asked, validatedBy } = start({ validatedBy: REFUSED, getTx, getBlockchains: list });
  expect(await validatedBy()).toBe(L1);
  const unknown = ['chain 1', 'chain 2'] as BlockchainID[];
  for (const chainID of unknown) expect(await validatedBy(chainID)).toBeUndefined();
  const count = (): number => asked.filter((id) => id === 'getBlockchains').length;
  expect(count()).toBe(1);
  await clock.advance(60_000);
  await validatedBy(unknown[0]);
  expect(count()).toBe(2);
});

test('an API that serves neither way is an error', async () => {
  const { validatedBy } = start({ validatedBy: REFUSED, getTx: REFUSED, getBlockchains: REFUSED });
  await expect(validatedBy()).rejects.toBe(REFUSED);
});

test('a subnet that an API cannot confirm is taken to exist', async () => {
  const { exists, getSubnet, directory } = start({ getSubnet: REFUSED });
  expect([await exists(), directory.isKnown(L1)]).toEqual([true, false]);
  await expect(getSubnet()).rejects.toBe(REFUSED);
});
