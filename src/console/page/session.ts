import type { ErrorAdvice, ExampleBody } from '../server/console-facts.ts';
import type { ApiClient } from './api-client.ts';

export const VIEWS = ['sign', 'inspect', 'subnets', 'service'] as const;
export type ViewName = (typeof VIEWS)[number];

/** What the address shows after its `#`; anybody can write such a link, so what cannot be decoded stays as it is. */
export function placeOf(hash: string): { readonly view: ViewName; readonly rest: string | undefined } {
  const [, name, rest] = hash.split('/');
  const view = VIEWS.find((known) => known === name) ?? 'sign';
  if (rest === undefined || rest === '') return { view, rest: undefined };
  try {
    return { view, rest: decodeURIComponent(rest) };
  } catch {
    return { view, rest };
  }
}

export const PRIMARY_NETWORK = '11111111111111111111111111111111LpoYY';

/** What all views share: whom they ask, of which network, and what is known beforehand. */
export interface Session {
  readonly api: ApiClient;
  readonly network: string;
  /** A name of the network that the public SDK knows; undefined where it has none. */
  readonly sdkNetwork: string | undefined;
  readonly hasDevnet: boolean;
  readonly hasFigures: boolean;
  readonly example: ExampleBody | undefined;
  /** Names of chains that no message tells, by their IDs. */
  readonly chainNames: ReadonlyMap<string, string>;
  /** The subnets of chains, where they are known beforehand. */
  readonly chainSubnets: ReadonlyMap<string, string>;
  adviceOf(code: string): ErrorAdvice | undefined;
  /** Shows another view, with what it is to begin with. */
  open(view: ViewName, text?: string): void;
  /** Says it to those who do not see it. */
  readonly announce: (text: string) => void;
}

/** Of a subnet that has one. */
export function nameOf(subnetId: string, { chainNames }: Session): string | undefined {
  return subnetId === PRIMARY_NETWORK ? 'Primary network' : chainNames.get(subnetId);
}
