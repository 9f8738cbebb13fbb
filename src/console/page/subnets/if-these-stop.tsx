import type { ComponentChild } from 'preact';
import type { SubnetHistoryBody } from '../../../api/subnets/history-records.ts';
import type { SubnetViewBody } from '../../../api/subnets/subnet-records.ts';
import { quorumWeight } from '../../../validators/quorum.ts';
import { useSession } from '../session.ts';
import { DEFAULT_QUORUM } from '../sign/quorum.ts';
import { dayAndMinute, percent, percentOf, ratioOf, shortened } from '../ui/figures.ts';
import { useAnswer } from '../ui/use-answer.ts';
import { remainingNow, worstHour } from './remaining-weight.ts';

interface IfTheseStopProps {
  readonly view: SubnetViewBody;
  /** Undefined if the service has no record of the subnet. */
  readonly history: SubnetHistoryBody | undefined;
  /** Keys of the chosen validators. */
  readonly chosen: ReadonlySet<string>;
  readonly onClear: () => void;
}

/** What remains of the weight, above the quorum, if chosen validators stop: now, and in the worst hour of the record. */
export function IfTheseStop({ view, history, chosen, onClear }: IfTheseStopProps): ComponentChild {
  const { api, network } = useSession();
  const { subnetId } = view;
  const nodes = view.validators.flatMap(({ publicKey = '', nodes: [node] }) =>
    chosen.has(publicKey) && node !== undefined ? [node.nodeId] : [],
  );
  const question = history === undefined ? undefined : { subnetId, nodes };
  const records = useAnswer(question, (asked, signal) =>
    Promise.all(asked.nodes.map((nodeId) => api.of(network).validatorHistory(asked.subnetId, nodeId, { signal }))),
  );
  const total = BigInt(view.totalWeight);
  const worst =
    history === undefined || records?.value === undefined ? undefined : worstHour(history.hours, records.value);
  const names = nodes.map((nodeId) => shortened(nodeId)).join(', ');
  return (
    <section class="if-stop" aria-live="polite">
      <header>
        <h3>
          {nodes.length === 0
            ? 'If validators stop'
            : `If ${nodes.length === 1 ? 'this one stops' : `these ${nodes.length} stop`}`}
        </h3>
        {nodes.length > 0 && (
          <button type="button" class="button small" onClick={onClear}>
            Clear
          </button>
        )}
      </header>
      <p class="hint">
        {nodes.length === 0
          ? 'Tick validators in the column Stop, or in an opened row, to see whether the others can sign without them. The worst hour is that of the record of this replica.'
          : names}
      </p>
      <Remaining label="Now" weight={remainingNow(view, chosen)} total={total} />
      {worst !== undefined && (
        <Remaining label={`Worst hour, ${dayAndMinute(worst.start)}`} weight={worst.weight} total={total} />
      )}
    </section>
  );
}

/** A weight beside the usual quorum, as a bar and in words. */
function Remaining({ label, weight, total }: { label: string; weight: bigint; total: bigint }): ComponentChild {
  const needed = quorumWeight(BigInt(DEFAULT_QUORUM), total);
  const isEnough = weight >= needed;
  const spare = isEnough ? weight - needed : needed - weight;
  const words = `${percentOf(spare, total)} ${isEnough ? 'above' : 'below'} the quorum of ${percent(DEFAULT_QUORUM)}`;
  return (
    <div class={`remaining ${isEnough ? 'enough' : 'short'}`}>
      <span class="remaining-label">{label}</span>
      <span class="remaining-bar" aria-hidden>
        <span style={{ transform: `scaleX(${ratioOf(weight, total)})` }} />
        <span class="bar-mark" style={{ left: `${DEFAULT_QUORUM}%` }} />
      </span>
      <span class="remaining-words">
        <strong>{`${isEnough ? '✓' : '✕'} ${percentOf(weight, total)}`}</strong>
        {` ${words}`}
      </span>
    </div>
  );
}
