import type { IdKind } from '../session.ts';
import { DEFAULT_QUORUM } from './quorum.ts';
import { DEFAULT_OPTIONS, type SignOptions } from './sign-request.ts';

/** The options of the view, by where they come from. */
export interface SignChoice {
  /** Stay when the text is replaced. */
  readonly byHand: Partial<SignOptions>;
  /** Came with the text, in a request or in a link, and go with it. */
  readonly ofText: Partial<SignOptions>;
}

export const NO_CHOICE: SignChoice = { byHand: {}, ofText: {} };

export function chosenOptions({ byHand, ofText }: SignChoice): SignOptions {
  return { ...DEFAULT_OPTIONS, ...byHand, ...ofText };
}

/** Returns the choice after a change by hand. An option that came with the text still goes with it. */
export function changeChoice(choice: SignChoice, next: SignOptions): SignChoice {
  const before = chosenOptions(choice);
  const changed = Object.entries(next).filter(([name, value]) => value !== before[name as keyof SignOptions]);
  const isOfText = ([name]: [string, unknown]): boolean => name in choice.ofText;
  return {
    byHand: { ...choice.byHand, ...Object.fromEntries(changed.filter((one) => !isOfText(one))) },
    ofText: { ...choice.ofText, ...Object.fromEntries(changed.filter(isOfText)) },
  };
}

export interface Difference {
  readonly label: string;
  readonly value: string;
  /** What the value is the ID of; undefined if it is none. */
  readonly idKind: IdKind | undefined;
  readonly isOfText: boolean;
}

/** Fields of the request that differ from the defaults. */
export function differencesOf(choice: SignChoice): Difference[] {
  const options = chosenOptions(choice);
  const { quorum, buffer } = options;
  const destination = options.destinationBlockchainId.trim();
  const hasQuorum = quorum !== undefined && (quorum !== DEFAULT_QUORUM || destination !== '');
  const rows: [keyof SignOptions, string, string, idKind?: IdKind][] = [
    ['destinationBlockchainId', 'Destination chain', destination, 'chain'],
    ['signingSubnetId', 'Signing subnet', options.signingSubnetId, 'subnet'],
    ['quorum', 'Quorum', hasQuorum ? `${quorum} %` : ''],
    ['buffer', 'Buffer', buffer > 0 ? `${buffer} %` : ''],
    ['pChainHeight', 'P-Chain height', options.pChainHeight],
    ['justification', 'Justification', options.justification],
  ];
  return rows.flatMap(([name, label, typed, idKind]) => {
    const value = typed.trim();
    return value === '' ? [] : [{ label, value, idKind, isOfText: name in choice.ofText }];
  });
}

/** A longer address is cut off by programs. */
const MAX_LINK = 8_192;

/** The address of the view with its message and options, for a reload or another person. */
export function signLink(text: string, options: SignOptions): string {
  const message = text.trim();
  const { quorum, buffer } = options;
  const parts = {
    message,
    quorum: quorum === undefined ? '' : String(quorum),
    buffer: buffer > 0 ? String(buffer) : '',
    subnet: options.signingSubnetId.trim(),
    destination: options.destinationBlockchainId.trim(),
    height: options.pChainHeight.trim(),
    justification: options.justification.trim(),
  };
  const query = new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== ''));
  return message === '' || message.length + parts.justification.length > MAX_LINK ? '#/sign' : `#/sign?${query}`;
}

/** Returns what a link names, with the default of each option that it leaves out; undefined if it names no message. */
export function linkedSigning(
  query: URLSearchParams,
): { readonly text: string; readonly options: SignOptions } | undefined {
  const text = query.get('message');
  if (text === null) return undefined;
  const percentage = (name: string): number | undefined => {
    const value = query.get(name) ?? '';
    return /^\d{1,3}$/.test(value) && Number(value) <= 100 ? Number(value) : undefined;
  };
  return {
    text,
    options: {
      ...DEFAULT_OPTIONS,
      quorum: percentage('quorum'),
      buffer: percentage('buffer') ?? DEFAULT_OPTIONS.buffer,
      signingSubnetId: query.get('subnet') ?? '',
      destinationBlockchainId: query.get('destination') ?? '',
      pChainHeight: query.get('height') ?? '',
      justification: query.get('justification') ?? '',
    },
  };
}
