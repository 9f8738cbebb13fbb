import { describe, expect, it, test } from 'vitest';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { parseCb58 } from '../../../src/lib/encoding/cb58.ts';
import { createNodeApi, type NodeApi } from '../../../src/pchain/rpc/node-api.ts';
import {
  type BlockchainID,
  idFromBytes,
  nodeIDFromBytes,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type TxID,
  type ValidationID,
} from '../../../src/warp/ids.ts';
import {
  type RpcExchange,
  readCases,
  readRpcExchanges,
  readTransaction,
  TRANSACTION_NAMES,
} from '../../vectors/vectors.ts';
import { LocalApi, openClient, type ReceivedRequest, type Reply } from './local-api.ts';

const SIGNAL = new AbortController().signal;

async function setUp(reply: (request: ReceivedRequest) => Reply) {
  const api = await LocalApi.start(reply);
  const client = openClient(api.baseUrl);
  return {
    node: createNodeApi(client, client),
    api,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

/** Answers with what a real node answered, and refuses what the vectors do not hold. */
function replay(exchanges: readonly RpcExchange[]): (request: ReceivedRequest) => Reply {
  const answers = new Map(exchanges.map(({ url, request, response }) => [keyOf({ url, ...request }), response]));
  return (request) => {
    const { error, result } = answers.get(keyOf(request)) ?? {};
    if (result !== undefined) return { result };
    return { error: error ?? { code: 1, message: `not in the vectors: ${keyOf(request)}` } };
  };
}

function keyOf({ url, method, params }: Pick<ReceivedRequest, 'url' | 'method' | 'params'>): string {
  const { pathname } = new URL(url, 'http://a');
  return `${pathname} ${method} ${JSON.stringify(Object.entries(params).toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
}

interface KnownParams {
  readonly subnetID: SubnetID;
  readonly blockchainID: BlockchainID;
  readonly txID: TxID;
  readonly validationID: ValidationID;
  readonly encoding: string;
  readonly height: 'proposed' | number;
}

/** The typed calls that send the requests of the vectors; undefined for parameters that an aggregator does not use. */
const CALLS: Readonly<Record<string, (node: NodeApi, params: KnownParams) => Promise<unknown> | undefined>> = {
  'platform.getHeight': (node) => node.getHeight(SIGNAL),
  'platform.getProposedHeight': (node) => node.getProposedHeight(SIGNAL),
  'platform.getValidatorsAt': (node, { subnetID, height }) =>
    node.getValidatorsAt(subnetID, height === 'proposed' ? height : BigInt(height), SIGNAL),
  'platform.getCurrentValidators': (node, { subnetID }) => node.getCurrentValidators(subnetID, SIGNAL),
  'platform.validatedBy': (node, { blockchainID }) => node.validatedBy(blockchainID, SIGNAL),
  'platform.getSubnet': (node, { subnetID }) => node.getSubnet(subnetID, SIGNAL),
  'platform.getL1Validator': (node, { validationID }) => node.getL1Validator(validationID, SIGNAL),
  'platform.getValidatorFeeState': (node) => node.getValidatorFeePrice(SIGNAL),
  'platform.getTx': (node, { txID, encoding }) => (encoding === 'hex' ? node.getTx(txID, SIGNAL) : undefined),
  'info.getNetworkID': (node) => node.getNetworkID(SIGNAL),
  'info.getNodeVersion': (node) => node.getNodeVersion(SIGNAL),
  'info.getNodeID': (node) => node.getNodeID(SIGNAL),
  'info.getNodeIP': (node) => node.getNodeIP(SIGNAL),
  'info.peers': (node, params) => ('nodeIDs' in params ? undefined : node.getPeers(SIGNAL)),
};

describe('the vectors of a real network', () => {
  it.each([
    ...readCases().map(({ name, rpc }) => [name, rpc] as const),
    ...TRANSACTION_NAMES.map((name) => [name, [readTransaction(name).hex]] as const),
    ...(['pchain', 'info'] as const).map((name) => [name, readRpcExchanges(name)] as const),
  ])('%s: every call has a result where the node gave one, else its error', async (_, exchanges) => {
    await using setup = await setUp(replay(exchanges));
    let asked = 0;
    for (const { request, response } of exchanges) {
      const call = CALLS[request.method]?.(setup.node, request.params as unknown as KnownParams);
      if (call === undefined) continue;
      asked += 1;
      if (response.error === undefined) await call;
      else {
        const { code, message } = response.error;
        await expect(call).rejects.toMatchObject({ code: 'rejected', rejection: { code, message } });
      }
    }
    expect(asked).toBeGreaterThan(0);
  });

  const L1 = 'BKBZ6xXTnT86B4L5fp8rvtcmNSpvtNz8En9jG61ywV2uWyeHy' as SubnetID;
  const UNKNOWN_SUBNET = 'SkB7qHwfMsyF2PgrjhMvtFxJKhuR5ZfVoW9VATWRV4P9jV7J' as SubnetID;

  it('pchain: heights, sets and subnets', async () => {
    await using setup = await setUp(replay(readRpcExchanges('pchain')));
    const { node } = setup;
    expect(await node.getHeight(SIGNAL)).toBe(11n);
    expect(await node.getProposedHeight(SIGNAL)).toBe(11n);

    const primary = await node.getValidatorsAt(PRIMARY_NETWORK_ID, 'proposed', SIGNAL);
    expect(primary).toHaveLength(5);
    expect(primary.every(({ publicKey, weight }) => publicKey?.length === 48 && weight === 2n * 10n ** 15n)).toBe(true);

    // One inactive validator: without a key, under the NodeID of 20 zero bytes, its weight still in the total.
    const l1 = await node.getValidatorsAt(L1, 'proposed', SIGNAL);
    expect(l1.map(({ weight }) => weight)).toEqual([100n, 350n, 200n, 300n, 250n]);
    expect(l1[0]).toEqual({ nodeID: nodeIDFromBytes(new Uint8Array(20)), publicKey: undefined, weight: 100n });
    expect(bytesToHex(l1[1]?.publicKey ?? new Uint8Array())).toMatch(/^accd61ceb90c61628aa0fa34acab27/);

    // Now it has its NodeID, and no balance.
    const current = await node.getCurrentValidators(L1, SIGNAL);
    expect(current).toHaveLength(5);
    expect(current[0]).toMatchObject({
      nodeID: 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg',
      weight: 100n,
      validationID: 'kTcNTqcRskfyBmv5bGwjF1hovBz69EENpeUWuQ8AcqT21UqDc',
      balance: 0n,
    });
    expect(current[1]).toMatchObject({ balance: 999_999_960n });
    const [ofPrimary] = await node.getCurrentValidators(PRIMARY_NETWORK_ID, SIGNAL);
    expect(ofPrimary).toMatchObject({ validationID: undefined, balance: undefined });
    const validationID = '2K9g9dYbcZ9Qr17G9M7DM7RaunM971Vhj6xs4LCHnvwigeF4cP' as ValidationID;
    expect(await node.getL1Validator(validationID, SIGNAL)).toEqual({
      subnetID: L1,
      nodeID: 'NodeID-GWPcbFJZFfZreETSoWjPimr846mXEKCtu',
      weight: 350n,
      minNonce: 2n,
      balance: 999_999_960n,
    });
    expect(await node.getValidatorFeePrice(SIGNAL)).toBe(1n);

    expect(await node.getSubnet(L1, SIGNAL)).toEqual({
      conversionID: parseCb58('p4DYb4vDdc2fTizyrfzR1TAsdYskiuz9Y2uCtUbWKt3ZhrQFp', 'ID'),
      managerChainID: 'C8B3Aw6QFwB1AiFqM2FpxphUPTYZfmW8ZpeQKXR5nPEXjW4u8',
      managerAddress: Uint8Array.from(Buffer.from('8db97c7cece249c2b98bdc0226cc4c2a57bf52fc', 'hex')),
    });
    // The sets of an unknown subnet are empty: only getSubnet refuses it.
    expect(await node.getValidatorsAt(UNKNOWN_SUBNET, 'proposed', SIGNAL)).toEqual([]);
    expect(await node.getCurrentValidators(UNKNOWN_SUBNET, SIGNAL)).toEqual([]);
    await expect(node.getSubnet(UNKNOWN_SUBNET, SIGNAL)).rejects.toMatchObject({ code: 'rejected' });
  });

  it('info: the node and its peers, without the one that cannot be dialled', async () => {
    // The file has the answers of several nodes.
    const exchanges = readRpcExchanges('info').filter(({ url }) => url.includes(':29650/'));
    await using setup = await setUp(replay(exchanges));
    const { node } = setup;
    expect(await node.getNetworkID(SIGNAL)).toBe(12345);
    expect(await node.getNodeVersion(SIGNAL)).toEqual({ major: 1, minor: 14, patch: 2 });
    expect(await node.getNodeID(SIGNAL)).toBe('NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg');
    expect(await node.getNodeIP(SIGNAL)).toEqual({ host: '127.0.0.1', port: 29651 });
    expect(await node.getPeers(SIGNAL)).toEqual([
      { nodeID: 'NodeID-P7oB2McjBGgW2NXXWVYjV8JEDFoW9xDE5', host: '127.0.0.1', port: 29659 },
      { nodeID: 'NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN', host: '127.0.0.1', port: 29655 },
      { nodeID: 'NodeID-GWPcbFJZFfZreETSoWjPimr846mXEKCtu', host: '127.0.0.1', port: 29657 },
      { nodeID: 'NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ', host: '127.0.0.1', port: 29653 },
    ]);
  });

  it.each(TRANSACTION_NAMES)('%s: bytes without a checksum, which is checked, as is the ID', async (name) => {
    const { txID, hex } = readTransaction(name);
    const { tx } = hex.response.result as { tx: string };
    const answers = [tx, tx, tx.replace(/.$/, (last) => (last === '0' ? '1' : '0'))];
    await using setup = await setUp(() => ({ result: { tx: answers.shift() } }));
    expect(`0x${bytesToHex(await setup.node.getTx(txID as TxID, SIGNAL))}`).toBe(tx.slice(0, -8));
    const other = idFromBytes<TxID>(new Uint8Array(32).fill(1), 'txID');
    await expect(setup.node.getTx(other, SIGNAL)).rejects.toMatchObject({ code: 'invalid_response' });
    await expect(setup.node.getTx(txID as TxID, SIGNAL)).rejects.toThrow('wrong checksum');
  });
});

const NODE_ID = 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg';
const KEY = `0x${'ab'.repeat(48)}`;
const CHAIN = 'C8B3Aw6QFwB1AiFqM2FpxphUPTYZfmW8ZpeQKXR5nPEXjW4u8' as BlockchainID;
const TX = 'BR7UNueA6PK3TPyBEgZBavQMx8qAgm7xgxVymLAs5KUxL55jF' as TxID;

test('a set that is read again has the same objects for unchanged validators', async () => {
  const other = `0x${'cd'.repeat(48)}`;
  const written: unknown[] = [
    { publicKey: KEY, weight: '5' },
    { publicKey: KEY, weight: '5' },
    { publicKey: KEY, weight: '6' },
    { publicKey: other, weight: '6' },
    { publicKey: null, weight: '6' },
    { weight: '6' },
  ];
  await using setup = await setUp(() => ({ result: { [NODE_ID]: written.shift() } }));
  const read = async () => (await setup.node.getValidatorsAt(PRIMARY_NETWORK_ID, 1n, SIGNAL))[0];
  const first = await read();
  expect(first).toEqual({ nodeID: NODE_ID, publicKey: parseHex(KEY, 'key'), weight: 5n });
  expect(await read()).toBe(first);
  expect(await read()).toEqual({ ...first, weight: 6n });
  expect(await read()).toEqual({ nodeID: NODE_ID, publicKey: parseHex(other, 'key'), weight: 6n });
  expect(await read()).toEqual({ nodeID: NODE_ID, publicKey: undefined, weight: 6n });
  await expect(read()).rejects.toThrow('publicKey');
});

describe('responses', () => {
  const getValidatorsAt = (node: NodeApi): Promise<unknown> => node.getValidatorsAt(PRIMARY_NETWORK_ID, 1n, SIGNAL);
  const getCurrentValidators = (node: NodeApi): Promise<unknown> =>
    node.getCurrentValidators(PRIMARY_NETWORK_ID, SIGNAL);
  const getSubnet = (node: NodeApi): Promise<unknown> => node.getSubnet(PRIMARY_NETWORK_ID, SIGNAL);
  const getPeers = (node: NodeApi): Promise<unknown> => node.getPeers(SIGNAL);

  it.each<[string, (node: NodeApi) => Promise<unknown>, unknown]>([
    ['no object', (node) => node.getHeight(SIGNAL), null],
    ['no height', (node) => node.getProposedHeight(SIGNAL), {}],
    ['a validator that is no object', getValidatorsAt, { [NODE_ID]: 7 }],
    ['a wrong checksum in a NodeID', getValidatorsAt, { [`${NODE_ID}h`]: { publicKey: null, weight: '1' } }],
    ['a prototype as a NodeID', getValidatorsAt, JSON.parse('{"__proto__":{"publicKey":null,"weight":"1"}}')],
    ['no weight', getValidatorsAt, { [NODE_ID]: { publicKey: KEY } }],
    ['a short key', getValidatorsAt, { [NODE_ID]: { publicKey: '0xab', weight: '1' } }],
    ['no validators', getCurrentValidators, {}],
    ['a bad validationID', getCurrentValidators, { validators: [{ nodeID: NODE_ID, weight: '1', validationID: 'x' }] }],
    ['an object that is no subnet', getSubnet, {}],
    ['a conversion without a manager', getSubnet, { isPermissioned: false, conversionID: CHAIN }],
    ['an unknown status', (node) => node.getTxStatus(TX, SIGNAL), { status: 'Pending' }],
    ['a transaction shorter than its checksum', (node) => node.getTx(TX, SIGNAL), { tx: '0x00' }],
    ['a version that is a text', (node) => node.getNodeVersion(SIGNAL), { version: 'the newest' }],
    ['a version without a patch', (node) => node.getNodeVersion(SIGNAL), { version: 'avalanchego/1.14' }],
    ['a NodeID without its prefix', (node) => node.getNodeID(SIGNAL), { nodeID: NODE_ID.slice(7) }],
    ['a host name', (node) => node.getNodeIP(SIGNAL), { ip: 'localhost:9651' }],
    ['no peers', getPeers, {}],
    ['a peer without a NodeID', getPeers, { peers: [{ publicIP: '1.2.3.4:9651' }] }],
  ])('with %s are refused', async (_what, call, result) => {
    await using setup = await setUp(() => ({ result }));
    await expect(call(setup.node)).rejects.toMatchObject({ name: 'ApiError', code: 'invalid_response' });
  });

  it('keep every digit of a weight, as a string and as a number', async () => {
    const nodeIDs = [1, 2, 3].map((byte) => nodeIDFromBytes(new Uint8Array(20).fill(byte)));
    const weights = ['"18446744073709551615"', '18446744073709551615', '1'];
    const entries = nodeIDs.map((nodeID, index) => `"${nodeID}":{"publicKey":null,"weight":${weights[index]}}`);
    await using setup = await setUp(({ id }) => ({
      status: 200,
      text: `{"jsonrpc":"2.0","id":${id},"result":{${entries.join(',')}}}`,
    }));
    const validators = await setup.node.getValidatorsAt(PRIMARY_NETWORK_ID, 1n, SIGNAL);
    expect(validators.map(({ weight }) => weight)).toEqual([2n ** 64n - 1n, 2n ** 64n - 1n, 1n]);
  });

  it.each([
    ['twice with the same fields', `"${NODE_ID}":{"publicKey":null,"weight":"1"}`],
    ['again in escaped characters', `"\\u004e${NODE_ID.slice(1)}" : {"publicKey":null,"weight":"2"}`],
    ['again after a text with quotes', `"x":"\\\\\\"{","${NODE_ID}":null`],
  ])('with a NodeID %s are refused, and name it', async (_, again) => {
    await using setup = await setUp(({ id }) => ({
      status: 200,
      text: `{"jsonrpc":"2.0","id":${id},"result":{"${NODE_ID}":{"publicKey":null,"weight":"1"},${again}}}`,
    }));
    await expect(getValidatorsAt(setup.node)).rejects.toMatchObject({
      code: 'invalid_response',
      message: `platform.getValidatorsAt: validator set: has "${NODE_ID}" twice`,
    });
  });

  it('for a subnet that is not an L1 have no conversion, on old and new nodes', async () => {
    const empty = '11111111111111111111111111111111LpoYY';
    const old = { isPermissioned: true, subnetTransformationTxID: empty };
    for (const result of [old, { ...old, conversionID: empty, managerChainID: empty, managerAddress: null }]) {
      await using setup = await setUp(() => ({ result }));
      expect(await setup.node.getSubnet(PRIMARY_NETWORK_ID, SIGNAL)).toEqual({
        conversionID: undefined,
        managerChainID: undefined,
      });
    }
  });

  it('omit peers without a usable address', async () => {
    const none = ['', undefined, null, 7, '0.0.0.0:1', '[::]:9651'];
    const invalid = ['1.2.3.4:0', '1.2.3.4:65536', '1.2.3:9651', 'host:1'];
    const useful = ['1.2.3.4:9651', '[2001:db8::1]:9651', '[::ffff:1.2.3.4]:9652'];
    await using setup = await setUp(() => ({
      result: { peers: [...none, ...invalid, ...useful].map((publicIP) => ({ nodeID: NODE_ID, publicIP })) },
    }));
    expect(await setup.node.getPeers(SIGNAL)).toEqual([
      { nodeID: NODE_ID, host: '1.2.3.4', port: 9651 },
      { nodeID: NODE_ID, host: '2001:db8::1', port: 9651 },
      { nodeID: NODE_ID, host: '1.2.3.4', port: 9652 },
    ]);
  });

  it('for a transaction have its status and the reason of a failure', async () => {
    await using setup = await setUp(() => ({ result: { status: 'Dropped', reason: 'no funds' } }));
    expect(await setup.node.getTxStatus(TX, SIGNAL)).toEqual({ status: 'Dropped', reason: 'no funds' });
  });

  it('have a block of the requested height only', async () => {
    const { result } = readTransaction('ConvertSubnetToL1Tx').json.response;
    const block = { id: CHAIN, parentID: CHAIN, height: 7, time: 5, txs: [(result as { tx: unknown }).tx] };
    await using setup = await setUp(() => ({ result: { block, encoding: 'json' } }));
    expect(await setup.node.getBlockByHeight(7n, SIGNAL)).toMatchObject({ height: 7n, origins: { length: 5 } });
    expect(setup.api.requests[0]?.params).toEqual({ height: 7, encoding: 'json' });
    await expect(setup.node.getBlockByHeight(8n, SIGNAL)).rejects.toMatchObject({ code: 'invalid_response' });
  });

  it('above the limit are not read to their end', async () => {
    await using setup = await setUp(() => 'endless');
    await expect(setup.node.getHeight(SIGNAL)).rejects.toMatchObject({ code: 'invalid_response' });
    await expect(getValidatorsAt(setup.node)).rejects.toThrow('has more than 16777216 bytes');
  });
});
