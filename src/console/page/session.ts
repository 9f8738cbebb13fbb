import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ConsoleFacts, ErrorAdvice } from '../server/console-facts.ts';
import type { ApiClient } from './api-client.ts';

export const VIEWS = ['sign', 'inspect', 'subnets', 'activity', 'service'] as const;
export type ViewName = (typeof VIEWS)[number];

/** The part of the address after its `#`: `#/subnets/ID`, `#/sign?message=…`. */
export interface Place {
  /** Undefined for an address that no view has. */
  readonly view: ViewName | undefined;
  readonly rest: string | undefined;
  readonly query: URLSearchParams;
}

/** Anyone can write a link, so parts that cannot be decoded stay as they are. */
export function placeOf(hash: string): Place {
  const [path = '', query] = hash.split('?', 2);
  const [, name, rest] = path.split('/');
  const view = name === undefined || name === '' ? 'sign' : VIEWS.find((known) => known === name);
  return { view, rest: rest ? decoded(rest) : undefined, query: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const PRIMARY_NETWORK = '11111111111111111111111111111111LpoYY';

/** What all views share. */
export interface Session {
  readonly api: ApiClient;
  readonly network: string;
  /** ID of the network, once the service has it from its API. */
  readonly networkId: number | undefined;
  /** Name of the network in the public SDK, if it has one. */
  readonly sdkNetwork: string | undefined;
  readonly facts: ConsoleFacts;
  /** Names of chains and subnets by their IDs. */
  readonly chainNames: ReadonlyMap<string, string>;
  /** Name of a subnet, if it has one. */
  readonly nameOf: (subnetId: string) => string | undefined;
  /** Subnets of chains that are known beforehand. */
  readonly chainSubnets: ReadonlyMap<string, string>;
  readonly adviceOf: (code: string) => ErrorAdvice | undefined;
  /** Shows another view, with the text that it begins with. */
  open(view: ViewName, text?: string): void;
  /** Announces a change to screen readers. */
  readonly announce: (text: string) => void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('there is no session around the component');
  return session;
}
