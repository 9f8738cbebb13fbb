import type { ComponentChild, TargetedEvent } from 'preact';
import { useId } from 'preact/hooks';
import { SelectField, TextField } from '../ui/controls.tsx';
import { ratioOf } from '../ui/figures.ts';
import { consequencesOf, MAX_PERCENTAGE, type Preflight } from './quorum.ts';
import type { SignOptions, ValidatorsAt } from './sign-request.ts';

interface QuorumControlsProps {
  readonly options: SignOptions;
  readonly onOptions: (options: SignOptions) => void;
  readonly known: Preflight;
  /** A transaction brings its own message, subnet and quorum. */
  readonly isTransaction: boolean;
}

export function QuorumControls({ options, onOptions, known, isTransaction }: QuorumControlsProps): ComponentChild {
  const change = (changed: Partial<SignOptions>) => onOptions({ ...options, ...changed });
  const { quorum, buffer } = options;
  return (
    <div class="stack">
      <Percentage
        label="Quorum"
        value={quorum}
        max={MAX_PERCENTAGE}
        isDisabled={isTransaction}
        onValue={(value) => change({ quorum: value, buffer: Math.min(buffer, MAX_PERCENTAGE - value) })}
      />
      <Percentage
        label="Buffer beyond it"
        value={buffer}
        max={MAX_PERCENTAGE - quorum}
        isDisabled={isTransaction}
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
      {isTransaction ? (
        <p class="hint">
          A transaction is requested by its ID alone: the default quorum of 67 % applies, and its own subnet signs.
        </p>
      ) : (
        <ul class="consequences">
          {consequencesOf(quorum, buffer, known).map(({ tone, text }) => (
            <li key={text} class={tone}>
              {text}
            </li>
          ))}
        </ul>
      )}
      <details class="more">
        <summary>Subnet, height and justification</summary>
        {!isTransaction && (
          <SigningSubnet value={options.signingSubnetId} onValue={(signingSubnetId) => change({ signingSubnetId })} />
        )}
        <ValidatorsAtFields at={options} change={change} hasHeight={!isTransaction} />
        {!isTransaction && (
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

export function SigningSubnet(props: { value: string; onValue: (value: string) => void }): ComponentChild {
  return (
    <TextField
      label="Signing subnet"
      hint="The subnet of the source chain, unless you name another."
      placeholder="in cb58 or hex"
      {...props}
    />
  );
}

export function ValidatorsAtFields(props: {
  at: ValidatorsAt;
  change: (changed: Partial<ValidatorsAt>) => void;
  hasHeight?: boolean;
}): ComponentChild {
  const { at, change, hasHeight = true } = props;
  return [
    <SelectField
      label="Validators of"
      value={at.at}
      onValue={(chosen) => change({ at: chosen })}
      options={[
        ['now', 'now: the proposed height'],
        ['destination', 'the current epoch of a destination chain'],
        ...(hasHeight ? [['height', 'a P-Chain height'] as const] : []),
      ]}
    />,
    at.at === 'destination' && (
      <TextField
        label="Destination chain"
        hint="The chain that will verify the message."
        placeholder="in cb58 or hex"
        value={at.destinationBlockchainId}
        onValue={(destinationBlockchainId) => change({ destinationBlockchainId })}
      />
    ),
    at.at === 'height' && (
      <TextField
        label="P-Chain height"
        hint="A whole number."
        placeholder="0"
        value={at.pChainHeight}
        onValue={(pChainHeight) => change({ pChainHeight })}
      />
    ),
  ];
}

function Percentage(props: {
  label: string;
  value: number;
  max: number;
  isDisabled: boolean;
  onValue: (value: number) => void;
}): ComponentChild {
  const { label, value, max, isDisabled, onValue } = props;
  const id = useId();
  const onInput = (event: TargetedEvent<HTMLInputElement>) => {
    const typed = Math.round(Number(event.currentTarget.value));
    if (Number.isFinite(typed)) onValue(Math.min(max, Math.max(0, typed)));
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
        disabled={isDisabled}
        onInput={onInput}
        aria-valuetext={`${value} percent`}
      />
      <span class="percent-number">
        <input
          type="number"
          min={0}
          max={max}
          value={value}
          disabled={isDisabled}
          onInput={onInput}
          aria-label={`${label} in percent`}
        />
        %
      </span>
    </div>
  );
}
