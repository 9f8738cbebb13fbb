import type { ComponentChild } from 'preact';
import { useId } from 'preact/hooks';
import { Field } from '../ui/controls.tsx';
import { ratioOf } from '../ui/figures.ts';
import { consequencesOf, MAX_PERCENTAGE } from './quorum.ts';
import type { SignOptions } from './sign-request.ts';

export interface QuorumControlsProps {
  readonly options: SignOptions;
  readonly onOptions: (options: SignOptions) => void;
  /** What is known of the subnet that will sign. */
  readonly signable: { readonly totalWeight: bigint; readonly signableWeight: bigint } | undefined;
  /** A transaction brings its own message, subnet and quorum. */
  readonly isTransaction: boolean;
}

export function QuorumControls({ options, onOptions, signable, isTransaction }: QuorumControlsProps): ComponentChild {
  const change = (changed: Partial<SignOptions>) => onOptions({ ...options, ...changed });
  const { quorum, buffer } = options;
  return (
    <div class="quorum-controls">
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
      <Preview quorum={quorum} buffer={buffer} signable={signable} />
      {isTransaction ? (
        <p class="hint">
          A transaction is asked for by its ID alone: the default quorum of 67 % applies, and its own subnet signs.
        </p>
      ) : (
        <ul class="consequences">
          {consequencesOf(quorum, buffer, signable).map(({ tone, text }) => (
            <li key={text} class={tone}>
              {text}
            </li>
          ))}
        </ul>
      )}
      <MoreOptions options={options} change={change} isTransaction={isTransaction} />
    </div>
  );
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
  const onInput = (event: Event) => {
    const typed = Math.round(Number((event.currentTarget as HTMLInputElement).value));
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

/** The bar as it will be, with what could sign now behind it. */
function Preview({
  quorum,
  buffer,
  signable,
}: Pick<SignOptions, 'quorum' | 'buffer'> & Pick<QuorumControlsProps, 'signable'>): ComponentChild {
  return (
    <div class="preview" aria-hidden>
      {signable !== undefined && (
        <div
          class="preview-signable"
          style={{ width: `${ratioOf(signable.signableWeight, signable.totalWeight) * 100}%` }}
        />
      )}
      <div class="preview-quorum" style={{ width: `${quorum}%` }} />
      <div class="preview-buffer" style={{ left: `${quorum}%`, width: `${buffer}%` }} />
    </div>
  );
}

function MoreOptions(props: {
  options: SignOptions;
  change: (changed: Partial<SignOptions>) => void;
  isTransaction: boolean;
}): ComponentChild {
  const { options, change, isTransaction } = props;
  const text =
    (name: 'signingSubnetId' | 'destinationBlockchainId' | 'pChainHeight' | 'justification', placeholder: string) =>
    (id: string, describedBy: string | undefined) => (
      <input
        id={id}
        type="text"
        value={options[name]}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        inputMode={name === 'pChainHeight' ? 'numeric' : 'text'}
        aria-describedby={describedBy}
        onInput={(event: Event) => change({ [name]: (event.currentTarget as HTMLInputElement).value })}
      />
    );
  return (
    <details class="more">
      <summary>Subnet, height and justification</summary>
      {!isTransaction && (
        <Field
          label="Signing subnet"
          hint="The subnet of the source chain, unless you name another."
          children={text('signingSubnetId', 'in cb58 or hex')}
        />
      )}
      <Field
        label="Validators of"
        children={(id) => (
          <select
            id={id}
            value={options.at}
            onChange={(event: Event) =>
              change({ at: (event.currentTarget as HTMLSelectElement).value as SignOptions['at'] })
            }
          >
            <option value="now">now: the proposed height</option>
            <option value="destination">the current epoch of a destination chain</option>
            {!isTransaction && <option value="height">a P-Chain height</option>}
          </select>
        )}
      />
      {options.at === 'destination' && (
        <Field
          label="Destination chain"
          hint="The chain that will verify the message."
          children={text('destinationBlockchainId', 'in cb58 or hex')}
        />
      )}
      {options.at === 'height' && <Field label="P-Chain height" children={text('pChainHeight', '0')} />}
      {!isTransaction && (
        <Field
          label="Justification"
          hint="What validators need beside some messages of the P-Chain: conversions, and removals of L1 validators."
          children={text('justification', 'hex')}
        />
      )}
    </details>
  );
}
