import type { PeerView } from '../../p2p/peer-view.ts';
import type { L1ValidatorFunds } from '../../pchain/state/validator-funds.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';
import { NO_HANDLER } from '../collection/refusal-verdict.ts';
import type { AnswerPast } from '../validators/answer-history.ts';

/** All that is known of the validators of one subnet, as of the moment when it was asked for. */
export interface SubnetView {
  readonly subnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly totalWeight: bigint;
  /** Requests can be sent to them. */
  readonly connectedWeight: bigint;
  /** The same, without those that gave no answer when they were last asked. */
  readonly reachableWeight: bigint;
  /** The same, without those whose signatures are known to be bad, and those that refuse every request. */
  readonly signableWeight: bigint;
  /** In percent: the highest for which the signable weight is enough. */
  readonly highestQuorumNum: bigint;
  /** Validators at the height that cannot sign, as they have no key: inactive ones of an L1, and some of the primary network. */
  readonly keyless: WarpSet['keyless'];
  /** The heaviest first; then the L1 validators that are inactive now, who are not in the canonical set. */
  readonly validators: readonly ValidatorView[];
}

export interface ValidatorView {
  readonly status: ValidatorStatus;
  /** Why it is not signable, in words for people. */
  readonly reason: string | undefined;
  /** Its bit in the set of signers; undefined for an inactive one. */
  readonly index: number | undefined;
  readonly weight: bigint;
  /** Undefined for an inactive one. */
  readonly publicKeyHex: string | undefined;
  /** Any of them can sign for the whole weight. */
  readonly nodes: readonly NodeStatus[];
}

/**
 * - `signable`: connected, and nothing is known against it
 * - `doubtful`: connected, but its last answer was none, a bad signature, or a refusal that has nothing to do with the message
 * - `unreachable`: not connected
 * - `inactive`: an L1 validator whose balance has run out
 */
export const VALIDATOR_STATUSES = ['signable', 'doubtful', 'unreachable', 'inactive'] as const;
export type ValidatorStatus = (typeof VALIDATOR_STATUSES)[number];

export interface NodeStatus extends PeerView {
  readonly nodeID: NodeID;
  /** Undefined where it was never asked. */
  readonly past: AnswerPast | undefined;
  /** Of an L1 validator, as far as its balance is known. */
  readonly funds: L1ValidatorFunds | undefined;
}

export interface SubnetFacts {
  readonly subnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly warpSet: WarpSet;
  readonly peerOf: (nodeID: NodeID) => PeerView;
  readonly pastOf: (nodeID: NodeID) => AnswerPast | undefined;
  readonly isInvalidSigner: (publicKeyHex: string) => boolean;
  /** Empty where they are not known, or nobody has any. */
  readonly funds: ReadonlyMap<NodeID, L1ValidatorFunds>;
}

type NodeFacts = Pick<SubnetFacts, 'peerOf' | 'pastOf' | 'isInvalidSigner' | 'funds'>;

/** What a node did longer ago says nothing of what it will do now. */
const DOUBT_MS = 10 * 60_000;

export function assembleSubnetView(facts: SubnetFacts): SubnetView {
  const { subnetID, pChainHeight, warpSet } = facts;
  const active = warpSet.validators.map((validator) => viewValidator(validator, facts));
  const isActive = new Set(warpSet.validators.flatMap(({ nodeIDs }) => nodeIDs));
  const inactive = [...facts.funds.entries()].flatMap(([nodeID, funds]): ValidatorView[] => {
    if (funds.balance > 0n || isActive.has(nodeID)) return [];
    const nodes = [nodeStatus(nodeID, facts)];
    const reason = 'its balance has run out: it counts for the total weight, but cannot sign';
    return [{ status: 'inactive', reason, index: undefined, weight: funds.weight, publicKeyHex: undefined, nodes }];
  });
  const weightOf = (isCounted: (validator: ValidatorView) => boolean): bigint =>
    active.reduce((sum, validator) => (isCounted(validator) ? sum + validator.weight : sum), 0n);
  const signableWeight = weightOf(({ status }) => status === 'signable');
  return {
    subnetID,
    pChainHeight,
    totalWeight: warpSet.totalWeight,
    connectedWeight: weightOf(({ nodes }) => nodes.some(isConnected)),
    reachableWeight: weightOf(({ nodes }) => nodes.some((node) => isConnected(node) && !wasUnanswered(node))),
    signableWeight,
    highestQuorumNum: warpSet.totalWeight === 0n ? 0n : (100n * signableWeight) / warpSet.totalWeight,
    keyless: warpSet.keyless,
    validators: [...active.toSorted(byWeight), ...inactive.toSorted(byWeight)],
  };
}

/**
 * Sums of {@link assembleSubnetView}, without what it says of each validator: they are asked for with every reading of the metrics, and
 * thousands of views would be made only to be added up.
 */
export function addUpWeights(
  { validators, totalWeight }: WarpSet,
  facts: Pick<SubnetFacts, 'pastOf' | 'isInvalidSigner'> & { readonly isConnected: (nodeID: NodeID) => boolean },
): Pick<SubnetView, 'totalWeight' | 'connectedWeight' | 'signableWeight'> {
  let connectedWeight = 0n;
  let signableWeight = 0n;
  for (const { nodeIDs, weight, publicKeyHex } of validators) {
    let isThere = false;
    let isGood = false;
    for (const nodeID of nodeIDs) {
      if (!facts.isConnected(nodeID)) continue;
      isThere = true;
      isGood ||= findDoubt(facts.pastOf(nodeID)) === undefined;
    }
    if (isThere) connectedWeight += weight;
    if (isGood && !facts.isInvalidSigner(publicKeyHex)) signableWeight += weight;
  }
  return { totalWeight, connectedWeight, signableWeight };
}

function viewValidator(validator: WarpValidator, facts: NodeFacts): ValidatorView {
  const { index, weight, publicKeyHex, nodeIDs } = validator;
  const nodes = nodeIDs.map((nodeID) => nodeStatus(nodeID, facts));
  const judged = judge(nodes, facts.isInvalidSigner(publicKeyHex));
  return { ...judged, index, weight, publicKeyHex, nodes };
}

/** A validator is as good as the best of its nodes. */
function judge(nodes: readonly NodeStatus[], isInvalidSigner: boolean): Pick<ValidatorView, 'status' | 'reason'> {
  const connected = nodes.filter(isConnected);
  if (connected.length === 0) return { status: 'unreachable', reason: nodes[0]?.obstacle?.reason };
  if (isInvalidSigner) return { status: 'doubtful', reason: 'it gave a bad signature' };
  const doubts = connected.map(({ past }) => findDoubt(past));
  return doubts.includes(undefined)
    ? { status: 'signable', reason: undefined }
    : { status: 'doubtful', reason: doubts[0] };
}

/** Why not to count on a node that is connected. That it refused one message says nothing of others. */
function findDoubt(past: AnswerPast | undefined): string | undefined {
  if (past === undefined || past.last.ageMs > DOUBT_MS) return undefined;
  const { last, lastRefusal } = past;
  switch (last.outcome) {
    case 'signed':
    // Its connection stands again.
    case 'unreachable':
      return undefined;
    case 'timed_out':
      if (last.reason === 'no_answer') return 'it gave no answer when it was last asked';
      return 'it answers pings, but drops our requests: it does not run the chain, or lets in listed nodes only (allowedNodes)';
    case 'invalid_signature':
      return 'its last signature was malformed';
    case 'refused':
      // A chain that signs nothing, as the X-Chain, is no fault of its nodes: they sign for the other chains of their subnet.
      return lastRefusal !== undefined && lastRefusal.code < 0 && lastRefusal.code !== NO_HANDLER
        ? `it refused its last request with code ${lastRefusal.code}: ${lastRefusal.text}`
        : undefined;
  }
}

function wasUnanswered({ past }: NodeStatus): boolean {
  if (past === undefined || past.last.ageMs > DOUBT_MS) return false;
  return past.last.outcome === 'timed_out';
}

function nodeStatus(nodeID: NodeID, { peerOf, pastOf, funds }: NodeFacts): NodeStatus {
  return { nodeID, ...peerOf(nodeID), past: pastOf(nodeID), funds: funds.get(nodeID) };
}

function isConnected({ obstacle }: PeerView): boolean {
  return obstacle === undefined;
}

function byWeight(a: ValidatorView, b: ValidatorView): number {
  return a.weight < b.weight ? 1 : a.weight > b.weight ? -1 : 0;
}
