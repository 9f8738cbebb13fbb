// node bench/go-way-server.ts API_URL THREADS: serves aggregations the way the reference does, and ends with its parent.

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Registry } from 'prom-client';
import { findBootstrapPeers } from '../src/network/bootstrap-peers.ts';
import { createIdentity } from '../src/p2p/identity.ts';
import { createPeerNetwork } from '../src/p2p/peer-network.ts';
import { createJsonRpcClient } from '../src/pchain/json-rpc.ts';
import { createNodeApi } from '../src/pchain/node-api.ts';
import { bytesToHex, parseHex } from '../src/primitives/bytes.ts';
import { systemClock } from '../src/primitives/clock.ts';
import { PRIMARY_NETWORK_ID } from '../src/primitives/ids.ts';
import { createLogger } from '../src/telemetry/logger.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { isQuorumReached } from '../src/validators/quorum.ts';
import { createWarpSet, type WarpValidator } from '../src/validators/warp-set.ts';
import { encodeSignatureRequest, parseSignatureResponse } from '../src/warp/signature-request.ts';
import { encodeSignedMessage } from '../src/warp/signed-message.ts';
import { parseUnsignedMessage, type UnsignedMessage } from '../src/warp/unsigned-message.ts';
import type { GoWayJob, GoWayResult } from './go-way-thread.ts';

/**
 * The way of the reference aggregator (icm-services, `signature-aggregator/aggregator/aggregator.go`) in this project's protocol:
 * all validators are asked at once; each signature is decoded, checked to be in its subgroup and verified on its own by blst as it
 * comes, one after the other; as soon as the quorum is there, its signatures are decoded once more, added up and returned. As in the
 * reference the sum is not verified. The validator set is read once, and there is no limit, log, metric or cache beside it.
 */
const QUORUM_NUM = 67n;
const TIMEOUT_MS = 10_000;
const NO_JUSTIFICATION = new Uint8Array();

const [apiUrl = '', threadCount = '2'] = process.argv.slice(2);
const never = new AbortController().signal;
const metrics = createMetrics(new Registry());
const rpc = createJsonRpcClient({
  ...{ endpoints: [{ baseUrl: apiUrl }], clock: systemClock, random: Math.random, metrics },
});
const api = createNodeApi(rpc, rpc);
const warpSet = createWarpSet(await api.getValidatorsAt(PRIMARY_NETWORK_ID, 'proposed', never));
const peers = createPeerNetwork({
  ...{ identity: createIdentity(), networkID: await api.getNetworkID(never), clock: systemClock, random: Math.random },
  ...{ logger: createLogger('warn'), metrics, allowPrivateAddresses: true, limits: { dialsPerSecond: 1_000 } },
  nodeVersion: (signal) => api.getNodeVersion(signal),
  bootstrapPeers: (signal) => findBootstrapPeers(api, [], signal),
});
const nodeIDs = warpSet.validators.flatMap((validator) => validator.nodeIDs);
peers.want('primary', new Set(nodeIDs));
await peers.waitUntil(() => nodeIDs.every((nodeID) => peers.isConnected(nodeID)), never);

const publicKeys = warpSet.validators.map(({ publicKey }) => publicKey);
const threads = Array.from({ length: Number(threadCount) }, () => {
  const worker = new Worker(new URL('go-way-thread.ts', import.meta.url), { workerData: { publicKeys } });
  const waiting = new Map<number, (result: GoWayResult) => void>();
  worker.on('message', (result: GoWayResult) => {
    waiting.get(result.id)?.(result);
    waiting.delete(result.id);
  });
  return { worker, waiting };
});

let lastJob = 0;

type Work<Job> = Job extends GoWayJob ? Omit<Job, 'id'> : never;

/** In the thread that has the fewest jobs. */
function run(work: Work<GoWayJob>): Promise<GoWayResult> {
  const thread = threads.reduce((least, other) => (other.waiting.size < least.waiting.size ? other : least));
  lastJob += 1;
  const id = lastJob;
  thread.worker.postMessage({ id, ...work });
  return new Promise((resolve) => thread.waiting.set(id, resolve));
}

interface Collected {
  readonly signatures: Map<number, Uint8Array>;
  weight: bigint;
  isOver: boolean;
}

async function aggregate(unsignedMessage: UnsignedMessage): Promise<Uint8Array> {
  const { bytes: message, sourceChainID } = unsignedMessage;
  const appBytes = encodeSignatureRequest({ message, justification: NO_JUSTIFICATION });
  const collected: Collected = { signatures: new Map(), weight: 0n, isOver: false };
  const ending = new AbortController();
  const { promise: enough, resolve, reject } = Promise.withResolvers<void>();
  /** One signature of a request after the other, as the reference does: what comes after the quorum is not verified. */
  let turn: Promise<void> = Promise.resolve();
  const options = { timeoutMs: TIMEOUT_MS, signal: ending.signal };
  const asking = warpSet.validators.map(async (validator) => {
    const [nodeID] = validator.nodeIDs;
    if (nodeID === undefined) return;
    const outcome = await peers.appRequest(nodeID, sourceChainID, appBytes, options);
    if (outcome.kind !== 'response') return;
    const signature = parseSignatureResponse(outcome.bytes);
    turn = turn.then(() => take(validator, message, signature, collected));
    await turn;
    if (isQuorumReached(QUORUM_NUM, collected.weight, warpSet.totalWeight)) resolve();
  });
  Promise.all(asking).then(() => reject(new Error('there are not enough signatures')), reject);
  await enough;
  const signers = [...collected.signatures.keys()].sort((a, b) => a - b);
  const { sum } = await run({
    kind: 'aggregate',
    signatures: signers.map((signer) => collected.signatures.get(signer) as Uint8Array),
  });
  if (sum === undefined) throw new Error('the signatures cannot be added up');
  return encodeSignedMessage({ unsignedMessage, signature: { signers, signature: sum } });
}

async function take(
  { index, weight }: WarpValidator,
  message: Uint8Array,
  signature: Uint8Array,
  collected: Collected,
): Promise<void> {
  if (isQuorumReached(QUORUM_NUM, collected.weight, warpSet.totalWeight)) return;
  const { isValid } = await run({ kind: 'verify', signer: index, message, signature });
  if (!isValid) return;
  collected.signatures.set(index, signature);
  collected.weight += weight;
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function answer(request: IncomingMessage): Promise<string> {
  const { message } = JSON.parse(await readText(request)) as { readonly message: string };
  const signed = await aggregate(parseUnsignedMessage(parseHex(message, 'message')));
  return JSON.stringify({ signedMessage: bytesToHex(signed) });
}

const server = createServer((request, response) => {
  answer(request).then(
    (text) => response.writeHead(201, { 'content-type': 'application/json' }).end(text),
    (error: unknown) => response.writeHead(500).end(JSON.stringify({ message: String(error) })),
  );
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
process.stdin.on('end', () => process.exit(0)).resume();
