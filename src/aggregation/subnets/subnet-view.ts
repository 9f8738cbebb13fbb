import type { PeerView } from '../../p2p/peer-view.ts';
import type { L1ValidatorFunds } from '../../pchain/state/validator-funds.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';
import { NO_HANDLER } from '../collection/refusal-verdict.ts';
import { byWeightDescending } from '../collection/tally.ts';
import type { AnswerPast } from '../validators/answer-history.ts';

export interface SubnetView {
  readonly subnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly totalWeight: bigint;
  readonly connectedWeight: bigint;
  /** Connected weight without validators that timed out last. */
  readonly reachableWeight: bigint;
  /** Connected weight without doubtful validators. */
  readonly signableWeight: bigint;
  /** In percent: the highest quorum that the signable weight reaches. */
  readonly highestQuorumNum: bigint;
  /** Validators at the height that have no key: inactive ones of an L1, and some of the primary network. */
  readonly keyless: WarpSet['keyless'];
  /** Heaviest first; then inactive L1 validators, which are not in the canonical set. */
  readonly validators: readonly ValidatorView[];
}

export interface ValidatorView {
  readonly status: ValidatorStatus;
  readonly reason: string | undefined;
  /** Its bit in the set of signers; undefined if inactive. */
  readonly index: number | undefined;
  readonly weight: bigint;
  readonly publicKeyHex: string | undefined;
  /** Each of them can sign for the whole weight. */
  readonly nodes: readonly NodeStatus[];
}

/**
 * - `signable`: connected, and without known problems
 * - `doubtful`: connected, but it last timed out, gave an invalid signature, or refused for a reason other than the message
 * - `unreachable`: not connected
 * - `inactive`: an L1 validator whose balance has run out
 */
export const VALIDATOR_STATUSES = ['signable', 'doubtful', 'unreachable', 'inactive'] as const;
export type ValidatorStatus = (typeof VALIDATOR_STATUSES)[number];

export interface NodeStatus extends PeerView {
  readonly nodeID: NodeID;
  readonly past: AnswerPast | undefined;
  readonly funds: L1ValidatorFunds | undefined;
}

export interface SubnetFacts {
  readonly subnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly warpSet: WarpSet;
  readonly peerOf: (nodeID: NodeID) => PeerView;
  readonly pastOf: (nodeID: NodeID) => AnswerPast | undefined;
  readonly isInvalidSigner: (publicKeyHex: string) => boolean;
  readonly funds: ReadonlyMap<NodeID, L1ValidatorFunds>;
}

type NodeFacts = Pick<SubnetFacts, 'peerOf' | 'pastOf' | 'isInvalidSigner' | 'funds'>;

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
    validators: [...active.toSorted(byWeightDescending), ...inactive.toSorted(byWeightDescending)],
  };
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

/** Why a connected node is doubtful. A refusal of one message says nothing about others. */
function findDoubt(past: AnswerPast | undefined): string | undefined {
  if (past === undefined || past.last.ageMs > DOUBT_MS) return undefined;
  const { last, lastRefusal } = past;
  switch (last.outcome) {
    case 'signed':
    // It has reconnected.
    case 'unreachable':
      return undefined;
    case 'timed_out':
      if (last.reason === 'no_answer') return 'it gave no answer when it was last asked';
      return 'it answers pings, but drops our requests: it does not run the chain, or lets in listed nodes only (allowedNodes)';
    case 'invalid_signature':
      return 'its last signature was malformed';
    case 'refused':
      // The nodes of a chain that signs nothing, such as the X-Chain, still sign for other chains.
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
