import { type ComponentChild, h } from 'preact';
import { useId } from 'preact/hooks';
import { Field } from './controls.ts';
import { ratioOf } from './figures.ts';
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
  return h('div', { class: 'quorum-controls' }, [
    h(Percentage, {
      label: 'Quorum',
      value: quorum,
      max: MAX_PERCENTAGE,
      isDisabled: isTransaction,
      onValue: (value) => change({ quorum: value, buffer: Math.min(buffer, MAX_PERCENTAGE - value) }),
    }),
    h(Percentage, {
      label: 'Buffer beyond it',
      value: buffer,
      max: MAX_PERCENTAGE - quorum,
      isDisabled: isTransaction,
      onValue: (value) => change({ buffer: value }),
    }),
    h(Preview, { quorum, buffer, signable }),
    isTransaction
      ? h(
          'p',
          { class: 'hint' },
          'A transaction is asked for by its ID alone: the default quorum of 67 % applies, and its own subnet signs.',
        )
      : h(
          'ul',
          { class: 'consequences' },
          consequencesOf(quorum, buffer, signable).map(({ tone, text }) => h('li', { key: text, class: tone }, text)),
        ),
    h(MoreOptions, { options, change, isTransaction }),
  ]);
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
  return h('div', { class: 'percentage' }, [
    h('label', { for: id }, label),
    h('input', {
      id,
      type: 'range',
      min: 0,
      max: MAX_PERCENTAGE,
      value,
      disabled: isDisabled,
      onInput,
      'aria-valuetext': `${value} percent`,
    }),
    h('span', { class: 'percent-number' }, [
      h('input', {
        type: 'number',
        min: 0,
        max,
        value,
        disabled: isDisabled,
        onInput,
        'aria-label': `${label} in percent`,
      }),
      '%',
    ]),
  ]);
}

/** The bar as it will be, with what could sign now behind it. */
function Preview({
  quorum,
  buffer,
  signable,
}: Pick<SignOptions, 'quorum' | 'buffer'> & Pick<QuorumControlsProps, 'signable'>): ComponentChild {
  return h('div', { class: 'preview', 'aria-hidden': true }, [
    signable !== undefined &&
      h('div', {
        class: 'preview-signable',
        style: { width: `${ratioOf(signable.signableWeight, signable.totalWeight) * 100}%` },
      }),
    h('div', { class: 'preview-quorum', style: { width: `${quorum}%` } }),
    h('div', { class: 'preview-buffer', style: { left: `${quorum}%`, width: `${buffer}%` } }),
  ]);
}

function MoreOptions(props: {
  options: SignOptions;
  change: (changed: Partial<SignOptions>) => void;
  isTransaction: boolean;
}): ComponentChild {
  const { options, change, isTransaction } = props;
  const text =
    (name: 'signingSubnetId' | 'destinationBlockchainId' | 'pChainHeight' | 'justification', placeholder: string) =>
    (id: string, describedBy: string | undefined) =>
      h('input', {
        id,
        type: 'text',
        value: options[name],
        placeholder,
        spellcheck: false,
        autocomplete: 'off',
        inputMode: name === 'pChainHeight' ? 'numeric' : 'text',
        'aria-describedby': describedBy,
        onInput: (event: Event) => change({ [name]: (event.currentTarget as HTMLInputElement).value }),
      });
  return h('details', { class: 'more' }, [
    h('summary', null, 'Subnet, height and justification'),
    !isTransaction &&
      h(Field, {
        label: 'Signing subnet',
        hint: 'The subnet of the source chain, unless you name another.',
        children: text('signingSubnetId', 'in cb58 or hex'),
      }),
    h(Field, {
      label: 'Validators of',
      children: (id) =>
        h(
          'select',
          {
            id,
            value: options.at,
            onChange: (event: Event) =>
              change({ at: (event.currentTarget as HTMLSelectElement).value as SignOptions['at'] }),
          },
          [
            h('option', { value: 'now' }, 'now: the proposed height'),
            h('option', { value: 'destination' }, 'the current epoch of a destination chain'),
            !isTransaction && h('option', { value: 'height' }, 'a P-Chain height'),
          ],
        ),
    }),
    options.at === 'destination' &&
      h(Field, {
        label: 'Destination chain',
        hint: 'The chain that will verify the message.',
        children: text('destinationBlockchainId', 'in cb58 or hex'),
      }),
    options.at === 'height' && h(Field, { label: 'P-Chain height', children: text('pChainHeight', '0') }),
    !isTransaction &&
      h(Field, {
        label: 'Justification',
        hint: 'What validators need beside some messages of the P-Chain: conversions, and removals of L1 validators.',
        children: text('justification', 'hex'),
      }),
  ]);
}
