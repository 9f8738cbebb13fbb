import type { ComponentChild, TargetedEvent } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { Facts, NamedId, TextField } from '../ui/controls.tsx';
import { ratioOf, shortened } from '../ui/figures.ts';
import { useKeptFocus } from '../ui/kept-focus.tsx';
import type { SourceKind } from './acceptance.ts';
import { type DestinationAnswer, DestinationSummary } from './delivery-facts.tsx';
import { consequencesOf, DEFAULT_QUORUM, MAX_PERCENTAGE, type Preflight } from './quorum.ts';
import type { Difference } from './sign-choice.ts';
import type { Destination, SignOptions } from './sign-request.ts';

/** A longer value is shown by its ends. */
const MAX_SHOWN = 40;

interface QuorumControlsProps {
  readonly options: SignOptions;
  readonly onOptions: (options: SignOptions) => void;
  readonly differences: readonly Difference[];
  readonly onDefaults: () => void;
  readonly known: Preflight;
  readonly destination: DestinationAnswer | undefined;
  readonly sources: SourceKind | undefined;
  /** The destination that the message names. */
  readonly namedDestination: string | undefined;
  /** A transaction brings its own. */
  readonly hasJustification: boolean;
}

export function QuorumControls(props: QuorumControlsProps): ComponentChild {
  const {
    options,
    onOptions,
    differences,
    onDefaults,
    known,
    destination,
    sources,
    namedDestination,
    hasJustification,
  } = props;
  const change = (changed: Partial<SignOptions>) => onOptions({ ...options, ...changed });
  const controls = useRef<HTMLDivElement>(null);
  useKeptFocus(controls, [differences.length > 0, namedDestination === options.destinationBlockchainId.trim()]);
  const { buffer } = options;
  const quorum = options.quorum ?? known.destinationQuorum ?? DEFAULT_QUORUM;
  return (
    <div ref={controls} class="stack" tabIndex={-1}>
      <DestinationChain
        value={options.destinationBlockchainId}
        onValue={(destinationBlockchainId) => change({ destinationBlockchainId })}
      />
      <DestinationSummary destination={destination} sources={sources} />
      {namedDestination !== undefined && namedDestination !== options.destinationBlockchainId.trim() && (
        <button type="button" class="button" onClick={() => change({ destinationBlockchainId: namedDestination })}>
          Take the destination that the message names
        </button>
      )}
      <Percentage
        label="Quorum"
        value={quorum}
        max={MAX_PERCENTAGE}
        onValue={(value) => change({ quorum: value, buffer: Math.min(buffer, MAX_PERCENTAGE - value) })}
      />
      <Percentage
        label="Buffer beyond it"
        value={buffer}
        max={MAX_PERCENTAGE - quorum}
        onValue={(value) => change({ buffer: value })}
      />
      <div class="preview" aria-hidden>
        {known.signable !== undefined && (
          <div
            class="preview-signable"
            style={{ width: `${ratioOf(known.signable.signableWeight, known.signable.totalWeight) * 100}%` }}
          />
        )}
        <div class="preview-quorum" style={{ width: `${quorum}%` }} />
        <div class="preview-buffer" style={{ left: `${quorum}%`, width: `${buffer}%` }} />
      </div>
      <ul class="consequences">
        {consequencesOf(quorum, buffer, known).map(({ tone, text }) => (
          <li key={text} class={tone}>
            {text}
          </li>
        ))}
      </ul>
      <Differences differences={differences} onDefaults={onDefaults} />
      <details class="more">
        <summary>Subnet, height and justification</summary>
        <SignersFields of={options} change={change} />
        {hasJustification && (
          <TextField
            label="Justification"
            hint="What validators need beside some messages of the P-Chain: conversions, and removals of L1 validators."
            placeholder="hex"
            value={options.justification}
            onValue={(justification) => change({ justification })}
          />
        )}
      </details>
    </div>
  );
}

/** Shown also while their fields are folded, so that no option applies unseen. */
function Differences(props: Pick<QuorumControlsProps, 'differences' | 'onDefaults'>): ComponentChild {
  const { differences, onDefaults } = props;
  if (differences.length === 0) return null;
  return (
    <section class="differences" aria-label="Differs from the defaults">
      <header>
        <h3>Differs from the defaults</h3>
        <button type="button" class="button small" onClick={onDefaults}>
          Use the defaults
        </button>
      </header>
      <Facts
        rows={differences.map(({ label, value, idKind, isOfText }) => [
          label,
          [
            idKind === undefined ? (
              <span>{value.length > MAX_SHOWN ? shortened(value, 12, 8) : value}</span>
            ) : (
              <NamedId value={value} kind={idKind} what="ID" />
            ),
            <span class="muted">{isOfText ? 'from the text' : 'set here, also for the next message'}</span>,
          ],
        ])}
      />
    </section>
  );
}

export function DestinationChain(props: { value: string; onValue: (value: string) => void }): ComponentChild {
  return (
    <TextField
      label="Destination chain"
      hint="The chain that verifies the message: its rule, quorum and epoch apply, except for what you choose."
      placeholder="that of the message, else the source's subnet"
      {...props}
    />
  );
}

export function SignersFields(props: {
  of: Destination;
  change: (changed: Partial<Destination>) => void;
}): ComponentChild {
  const { of, change } = props;
  return [
    <TextField
      label="Signing subnet"
      hint="The one that the destination accepts, or the subnet of the source chain, unless you name another."
      placeholder="in cb58 or hex"
      value={of.signingSubnetId}
      onValue={(signingSubnetId) => change({ signingSubnetId })}
    />,
    <TextField
      label="P-Chain height"
      hint="That of the destination's epoch, or the proposed one, unless you name another."
      placeholder="a whole number"
      value={of.pChainHeight}
      onValue={(pChainHeight) => change({ pChainHeight })}
    />,
  ];
}

function Percentage(props: {
  label: string;
  value: number;
  max: number;
  onValue: (value: number) => void;
}): ComponentChild {
  const { label, value, max, onValue } = props;
  const id = useId();
  const onInput = (event: TargetedEvent<HTMLInputElement>) => {
    const { value: text } = event.currentTarget;
    const typed = Math.round(Number(text));
    // An empty field is about to be filled.
    if (text !== '' && Number.isFinite(typed)) onValue(Math.min(max, Math.max(0, typed)));
  };
  return (
    <div class="percentage">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="range"
        min={0}
        max={MAX_PERCENTAGE}
        value={value}
        onInput={onInput}
        aria-valuetext={`${value} percent`}
      />
      <span class="percent-number">
        <input type="number" min={0} max={max} value={value} onInput={onInput} aria-label={`${label} in percent`} />%
      </span>
    </div>
  );
}
