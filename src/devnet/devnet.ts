import { type Clock, nextTurn } from '../lib/concurrency/clock.ts';
import { bytesToHex, prefixedHex } from '../lib/encoding/bytes.ts';
import { createIdentity, type Identity } from '../p2p/identity/identity.ts';
import type { Logger } from '../telemetry/logger.ts';
import { P_CHAIN_ID, PRIMARY_NETWORK_ID } from '../warp/ids.ts';
import type { UnsignedMessage } from '../warp/unsigned-message.ts';
import type { DevnetNetwork, EmitBody, Example, IssueBody } from './devnet-schemas.ts';
import { emitExamples } from './examples.ts';
import { createKeyRing } from './key-ring.ts';
import {
  createAbsentNodeID,
  createNetworkModel,
  type IssuedTransaction,
  L1_ONLY_COUNT,
  MIN_PRIMARY_NODES,
  type ModelNode,
  type NetworkModel,
} from './network-model.ts';
import { createAppRequestJudge } from './node/app-request-judge.ts';
import { DevnetValidator, type ValidatorRole, type ValidatorSurroundings } from './node/devnet-validator.ts';
import { GossipPool } from './node/gossip-pool.ts';
import { type L1RequestParts, type ManagerMessage, parseIssueBody, parseManagerMessage } from './node/l1-requests.ts';
import { createNodeApiServer } from './node/node-api-server.ts';
import type { EvmBlock, EvmChain } from './pchain/evm-chain.ts';
import type { L1Validator } from './pchain/l1-history.ts';
import { createSeededRandom, seededId } from './seeded-random.ts';

export interface DevnetOptions {
  /** Validators of the primary network, at least {@link MIN_PRIMARY_NODES}; two more run that validate the L1 alone. */
  readonly validators: number;
  /** Runs with the same seed have the same BLS keys, weights, and IDs of subnets and chains. Their NodeIDs differ. */
  readonly seed?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time from the acceptance of a C-Chain block to its execution; 0 by default. */
  readonly executionLagMs?: number;
  /** Time between P-Chain blocks: 10 s by default. */
  readonly blockIntervalMs?: number;
  readonly onProgress?: (done: number, total: number) => void;
  /** Ends the start. */
  readonly signal?: AbortSignal | undefined;
  /** An IP address: 127.0.0.1 by default. */
  readonly host?: string;
  /** Creates the validators: by default those that behave like real ones. */
  readonly createValidator?: (surroundings: ValidatorSurroundings, role: ValidatorRole) => DevnetValidator;
}

export interface EmittedMessage {
  readonly message: UnsignedMessage;
  readonly transactionHash: string;
  readonly block: EvmBlock;
}

/** The devnet: a P-Chain and info API over HTTP, and validators that speak the real peer-to-peer protocol. Disposal stops all. */
export interface Devnet extends DevnetNetwork, AsyncDisposable {
  /** What clients of the devnet's routes see of it: the same as the fields of {@link DevnetNetwork} here. */
  readonly network: DevnetNetwork;
  /** The chains whose messages the validators sign. */
  readonly chains: Readonly<Record<EmittingChain, EvmChain>>;
  /** Requests to the aggregator, served as `name`, that succeed. */
  examples(name: string): Example[];
  /** Has a chain emit a message in a new transaction, from the chain's account unless there is a `sender` (20 bytes). */
  emit(chain: EmittingChain, payload?: Uint8Array, sender?: Uint8Array): EmittedMessage;
  /** Returns the message that a client wants a validator manager to send; undefined for another one. @throws {HttpError} */
  managerMessage(body: EmitBody): ManagerMessage | undefined;
  /** Issues a transaction, which the next block accepts. @throws {HttpError} @throws {TransactionRefused} */
  issue(body: IssueBody): IssuedTransaction;
  /** Has the C-Chain emit new messages, whose unsigned bytes it returns in hex. */
  emitMessages(count: number): string[];
  /** @param index into `nodeIDs` @throws {RangeError} */
  validator(index: number): DevnetValidator;
  /** The L1's validators as the P-Chain has them, inactive ones too. */
  l1Validators(): readonly L1Validator[];
  /** Closes the API alone. */
  closeApi(): Promise<void>;
}

type EmittingChain = 'C' | 'L1';

const MAX_VALIDATORS = 2_000;
/** Nodes that are created before a yield to the event loop; each takes about a millisecond. */
const BATCH_SIZE = 32;
/**
 * Maximum number of peers that the API lists. The others are found through gossip, as on a public network. Validators of the L1 alone are
 * never listed.
 */
const MAX_LISTED_PEERS = 32;

/** @throws if no port or file descriptor is available, or the signal's reason; everything is closed then */
export async function startDevnet(options: DevnetOptions): Promise<Devnet> {
  const { validators: count, seed = 1, logger, host = '127.0.0.1' } = options;
  if (!Number.isInteger(count) || count < MIN_PRIMARY_NODES || count > MAX_VALIDATORS) {
    throw new RangeError(`the devnet has ${MIN_PRIMARY_NODES} to ${MAX_VALIDATORS} validators, not ${count}`);
  }
  await using opened = new AsyncDisposableStack();
  const { model, validators } = await createNodes(options);
  opened.defer(async () => {
    await Promise.all(validators.map((validator) => validator.stop()));
  });
  await startAll(validators, options);

  const [apiNode, ...others] = validators.slice(0, count);
  if (apiNode === undefined) throw new RangeError('there is no first validator');
  /** API of the first validator. */
  const api = createNodeApiServer({ model, seed, node: apiNode, peers: listedPeers(others) });
  const closeApi = async (): Promise<void> => api.close();
  opened.defer(closeApi);
  const apiUrl = await api.listen({ host, port: 0 });
  logger.debug({ apiUrl, validators: validators.length, bls: apiNode.surroundings.keys.backend }, 'devnet started');

  const network: DevnetNetwork = {
    apiUrl,
    networkID: model.networkID,
    subnets: describeSubnets(model),
    transactions: nameTransactions(model),
    nodeIDs: validators.map(({ nodeID }) => nodeID),
  };
  const examples = emitExamples(model, seed);
  const chains = { C: model.cChain, L1: model.l1Chain };
  const emit = createEmitter(chains);
  const requests = l1RequestParts(model, seed, validators);
  const closing = opened.move();
  return {
    ...network,
    network,
    chains,
    examples,
    emit,
    managerMessage: (body) => parseManagerMessage(body, requests),
    issue: (body) => model.issue(parseIssueBody(body, requests)),
    emitMessages: (wanted) => Array.from({ length: wanted }, () => bytesToHex(emit('C').message.bytes)),
    validator: (index) => at(validators, index),
    l1Validators: () => model.l1Validators(),
    closeApi,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Creates the network, and the validators of its nodes, which are not started. */
async function createNodes({
  validators: primaryCount,
  seed = 1,
  clock,
  logger,
  host = '127.0.0.1',
  executionLagMs = 0,
  blockIntervalMs,
  createValidator = (...made) => new DevnetValidator(...made),
}: DevnetOptions): Promise<{ model: NetworkModel; validators: DevnetValidator[] }> {
  const runningCount = primaryCount + L1_ONLY_COUNT;
  // One key more for the L1 validator whose node does not run.
  const keys = await createKeyRing({ count: runningCount + 1, seed });
  const nodes = (await createIdentities(runningCount, clock)).map((identity, keyIndex) => {
    return { identity, keyIndex, nodeID: identity.nodeID, publicKey: at(keys.publicKeys, keyIndex) };
  });
  const model = createNetworkModel({
    seed,
    clock,
    primaryNodes: nodes.slice(0, primaryCount),
    l1OnlyNodes: nodes.slice(primaryCount),
    inactiveNode: { nodeID: createAbsentNodeID(seed), publicKey: at(keys.publicKeys, runningCount) },
    executionLagMs,
    ...(blockIntervalMs !== undefined && { blockIntervalMs }),
  });
  const surroundings = {
    networkID: model.networkID,
    host,
    clock,
    logger,
    keys,
    judge: createAppRequestJudge(model),
    gossip: new GossipPool(createSeededRandom(seed)),
    handshakeSignature: keys.sign(0, new Uint8Array()),
  };
  return { model, validators: assignRoles(model, nodes).map((role) => createValidator(surroundings, role)) };
}

function l1RequestParts(model: NetworkModel, seed: number, validators: readonly DevnetValidator[]): L1RequestParts {
  let subnets = 0;
  return {
    model,
    publicKeyOf: (nodeID) => validators.find((validator) => validator.nodeID === nodeID)?.publicKey,
    createSubnet() {
      subnets += 1;
      return seededId(seed, `subnet of a client ${subnets}`);
    },
  };
}

function createEmitter(chains: Devnet['chains']): Devnet['emit'] {
  let count = 0;
  return (chain, payload, sender) => {
    count += 1;
    const payloads = [payload ?? Buffer.from(`message ${count}`)];
    const { hash, block, messages } = chains[chain].transact(payloads, 'succeeded', sender);
    return { message: at(messages, 0), transactionHash: hash, block };
  };
}

async function createIdentities(count: number, clock: Clock): Promise<Identity[]> {
  const identities: Identity[] = [];
  while (identities.length < count) {
    for (let made = 0; made < BATCH_SIZE && identities.length < count; made += 1) identities.push(createIdentity());
    await nextTurn(clock);
  }
  return identities;
}

type DevnetNode = ModelNode & Pick<ValidatorRole, 'identity' | 'keyIndex'>;

function assignRoles({ cChain, xChainID, l1, ...model }: NetworkModel, nodes: readonly DevnetNode[]): ValidatorRole[] {
  const primaryNodeIDs = new Set(model.primaryValidators.map(({ nodeID }) => nodeID));
  const nowOfL1 = new Set(model.l1Validators().map(({ nodeID }) => nodeID));
  // A former validator of the L1 still runs its chain, and can sign at the older height.
  const before = model.validatorsAt(l1.subnetID, l1.olderHeight).map(({ nodeID }) => nodeID);
  const everOfL1 = new Set([...before, ...nowOfL1]);
  const primaryChains = [P_CHAIN_ID, xChainID, cChain.blockchainID];
  return nodes.map(({ nodeID, ...node }) => {
    const runsL1 = everOfL1.has(nodeID);
    return {
      ...node,
      subnetIDs: [
        ...(primaryNodeIDs.has(nodeID) ? [PRIMARY_NETWORK_ID] : []),
        ...(nowOfL1.has(nodeID) ? [l1.subnetID] : []),
      ],
      trackedSubnets: runsL1 ? [l1.subnetID] : [],
      blockchainIDs: new Set(runsL1 ? [...primaryChains, l1.blockchainID] : primaryChains),
    };
  });
}

async function startAll(
  validators: readonly DevnetValidator[],
  { onProgress, signal }: Pick<DevnetOptions, 'onProgress' | 'signal'>,
): Promise<void> {
  onProgress?.(0, validators.length);
  for (let start = 0; start < validators.length; start += BATCH_SIZE) {
    signal?.throwIfAborted();
    const batch = validators.slice(start, start + BATCH_SIZE);
    try {
      await Promise.all(batch.map((validator) => validator.start()));
    } catch (cause) {
      const needed = 3 * validators.length;
      throw new Error(
        `the devnet cannot open a port for each of ${validators.length} validators: ${(cause as Error).message} ` +
          `(it needs about ${needed} file descriptors: see ulimit -n)`,
        { cause },
      );
    }
    onProgress?.(start + batch.length, validators.length);
  }
}

/** The last primary validator is never listed, so that even a small network needs gossip. */
function listedPeers(others: readonly DevnetValidator[]): DevnetValidator[] {
  return others.slice(0, Math.min(MAX_LISTED_PEERS, others.length - 1));
}

function describeSubnets({ xChainID, cChain, strictChain, l1 }: NetworkModel): DevnetNetwork['subnets'] {
  return {
    primary: { subnetID: PRIMARY_NETWORK_ID, pChainID: P_CHAIN_ID, xChainID, cChainID: cChain.blockchainID },
    l1: {
      subnetID: l1.subnetID,
      blockchainID: l1.blockchainID,
      strictBlockchainID: strictChain.blockchainID,
      managerAddress: prefixedHex(l1.managerAddress),
      olderHeight: Number(l1.olderHeight),
    },
  };
}

function nameTransactions({ ledger, l1 }: NetworkModel): DevnetNetwork['transactions'] {
  const { heights } = l1;
  return {
    balanceIncrease: ledger.transactionAt(heights.balanceIncrease).id,
    disabling: ledger.transactionAt(heights.disabling).id,
    overtakenWeightChange: ledger.transactionAt(heights.overtakenWeightChange).id,
    usedUpRegistration: ledger.transactionAt(heights.usedUpRegistration).id,
    processing: ledger.processing.id,
    ofXChain: ledger.ofXChain.id,
  };
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`there is no entry ${index}`);
  return item;
}
