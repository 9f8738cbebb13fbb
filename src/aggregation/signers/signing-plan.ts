import type { WarpSet } from '../../validators/warp-set.ts';
import type { SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import type { DeliveryTarget } from './delivery-warnings.ts';
import type { SigningQuestion } from './signing-question.ts';
import type { SigningRule } from './signing-rule.ts';

/** The validators of a subnet at a height. */
export interface SignersAtHeight {
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly warpSet: WarpSet;
  /** Canonical indices of validators that are asked only if the quorum needs them. */
  readonly avoided: ReadonlySet<number>;
}

/** Who signs a message, with which quorum, at which height. */
export interface SigningPlan extends SignersAtHeight {
  /** Equal for plans with the same answer, in every replica: it covers the validator set, not its height. */
  readonly key: string;
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  readonly sourceSubnetID: SubnetID;
  /** Why this subnet signs. */
  readonly rule: SigningRule;
  readonly quorumNum: bigint;
  readonly quorumBuffer: bigint;
  /** Undefined without a destination, and for one that the P-Chain does not know. */
  readonly target: DeliveryTarget | undefined;
  /** What was resolved. */
  readonly question: SigningQuestion;
}
