import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ReadinessBody } from '../../api/health/health.ts';
import type { DevnetNetwork } from '../../devnet/devnet-schemas.ts';
import type { ErrorCodeEntry } from '../../http/errors/error-codes.ts';
import type { ConsoleFacts } from '../server/console-facts.ts';
import type { ConsoleApi, PrimaryChains } from './console-api.ts';
import { clockTime } from './ui/figures.ts';

/** Titles of the views by their names in the address. */
export const TITLES = {
  sign: 'Sign',
  inspect: 'Inspect',
  messages: 'Messages',
  subnets: 'Subnets',
  activity: 'Activity',
  service: 'Service',
  find: 'Find',
} as const;
export type ViewName = keyof typeof TITLES;
const VIEWS = Object.keys(TITLES) as ViewName[];
/** Those with a link in all views. */
export const LISTED_VIEWS = VIEWS.filter((view) => view !== 'find');

/** The text that another view gives to a view: an object of its own each time, also for the same text. */
export interface Begin {
  readonly text: string;
}

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
/** Length of the shortest ID, in cb58; a text is shorter while it is typed. */
export const MIN_ID_LENGTH = 34;

/** What all views share. */
export interface Session {
  readonly api: ConsoleApi;
  readonly network: string;
  /** ID of the network, once the service has it from its API. */
  readonly networkId: number | undefined;
  /** Why requests for the network fail now; undefined while they are served, or that is not known. */
  readonly networkProblem: string | undefined;
  /** Name of the network in the public SDK, if it has one. */
  readonly sdkNetwork: string | undefined;
  readonly facts: ConsoleFacts;
  /** Subnets and chains of the devnet, once they are loaded. */
  readonly devnet: DevnetNetwork['subnets'] | undefined;
  readonly chains: PrimaryChains;
  /** Name of a subnet or a chain, if it has one. */
  readonly nameOf: NameOf;
  readonly adviceOf: (code: string) => ErrorCodeEntry | undefined;
  /** Shows another view, with the text that it begins with. */
  readonly open: (view: ViewName, text?: string) => void;
  /** Announces a change to screen readers. */
  readonly announce: (text: string) => void;
}

/** What an ID is of: the P-Chain has the ID of the primary network. */
export type IdKind = 'chain' | 'subnet';
export type NameOf = (id: string, kind: IdKind) => string | undefined;

export function namesOf(devnet: Session['devnet'], chains: PrimaryChains): NameOf {
  const subnets = new Map([[PRIMARY_NETWORK, 'Primary network']]);
  const ofChains = new Map([[PRIMARY_NETWORK, 'P-Chain']]);
  for (const [name, id] of Object.entries(chains)) ofChains.set(id, `${name}-Chain`);
  if (devnet !== undefined) {
    subnets.set(devnet.l1.subnetID, 'Devnet L1');
    ofChains.set(devnet.l1.blockchainID, 'Devnet L1').set(devnet.l1.strictBlockchainID, 'Devnet L1, strict');
  }
  return (id, kind) => (kind === 'chain' ? ofChains : subnets).get(id);
}

interface PolledReadiness {
  readonly value: ReadinessBody | undefined;
  readonly error: unknown;
  /** In Unix milliseconds. */
  readonly failingSince: number;
}

export function problemOf({ value, error, failingSince }: PolledReadiness, network: string): string | undefined {
  if (error !== undefined) return `The service cannot be reached since ${clockTime(failingSince)}.`;
  const found = value?.networks.find(({ name }) => name === network);
  if (found === undefined || found.status === 'up' || found.status === 'degraded') return undefined;
  return `Network ${network} is ${found.status}, so nothing can be signed for it now${found.reason === undefined ? '' : `: ${found.reason}`}.`;
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('there is no session around the component');
  return session;
}
