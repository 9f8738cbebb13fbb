import type { ComponentChild } from 'preact';
import { percentOf, ratioOf } from './figures.ts';

interface WeightBarProps {
  readonly signedWeight: bigint;
  readonly quorumWeight: bigint;
  readonly targetWeight: bigint;
  readonly totalWeight: bigint;
}

/** The weight that has signed, against what the quorum and its buffer need. */
export function WeightBar({ signedWeight, quorumWeight, targetWeight, totalWeight }: WeightBarProps): ComponentChild {
  const quorum = ratioOf(quorumWeight, totalWeight);
  const target = ratioOf(targetWeight, totalWeight);
  const signed = ratioOf(signedWeight, totalWeight);
  const isReached = totalWeight > 0n && signedWeight >= quorumWeight;
  return (
    <div class={`weight-bar ${isReached ? 'reached' : ''}`}>
      <div
        class="bar-track"
        role="progressbar"
        aria-label="Weight that has signed"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.floor(signed * 100)}
        aria-valuetext={`${percentOf(signedWeight, totalWeight)} have signed; the quorum is ${percentOf(quorumWeight, totalWeight)}`}
      >
        {target > quorum && (
          <div class="bar-buffer" style={{ left: `${quorum * 100}%`, width: `${(target - quorum) * 100}%` }} />
        )}
        <div class="bar-fill" style={{ transform: `scaleX(${signed})` }} />
        <div class="bar-mark" style={{ left: `${quorum * 100}%` }} />
      </div>
      <div class="bar-scale" aria-hidden>
        <span class="bar-label" style={{ left: `${quorum * 100}%`, transform: `translateX(-${quorum * 100}%)` }}>
          {`${isReached ? '✓ ' : ''}quorum ${percentOf(quorumWeight, totalWeight)}`}
        </span>
      </div>
    </div>
  );
}
