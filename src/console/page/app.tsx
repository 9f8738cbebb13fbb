import { type ComponentChild, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ReadinessBody } from '../../api/health/health.ts';
import type { ErrorCodeEntry } from '../../http/errors/error-codes.ts';
import type { ConsoleFacts } from '../server/console-facts.ts';
import { ActivityView } from './activity/activity-view.tsx';
import { KeyButton, KeyForm, useApiKey } from './api-key.tsx';
import { ConsoleApi, failureOf, type PrimaryChains } from './console-api.ts';
import { FindBox } from './find/find-box.tsx';
import { FindView } from './find/find-view.tsx';
import { InspectView } from './inspect/inspect-view.tsx';
import { MessagesView } from './messages/messages-view.tsx';
import { ServiceView } from './service/service-view.tsx';
import {
  type Begin,
  LISTED_VIEWS,
  namesOf,
  placeOf,
  problemOf,
  type Session,
  SessionContext,
  TITLES,
  type ViewName,
} from './session.ts';
import { SignView } from './sign/sign-view.tsx';
import { SubnetsView } from './subnets/subnets-view.tsx';
import { Badge, Card, Swatch } from './ui/controls.tsx';
import { clockTime } from './ui/figures.ts';
import { type Polled, usePolled } from './ui/polled.tsx';
import { ThemeButton } from './ui/theme.tsx';
import { copyExactFigures } from './ui/weight.tsx';

const READINESS_EVERY_MS = 5_000;
const KEY_ACTION = 'Type an API key in above, and try again';
const api = new ConsoleApi(new URL('.', document.baseURI).href);

function App({ facts }: { facts: ConsoleFacts }): ComponentChild {
  const [place, setPlace] = useState(placeOf(location.hash));
  const [network, setNetwork] = useState(facts.networks[0]?.name ?? '');
  const [texts, setTexts] = useState<Partial<Record<ViewName, Begin>>>({});
  const [said, setSaid] = useState('');
  const [devnet, setDevnet] = useState<Session['devnet']>();
  const [chains, setChains] = useState<Readonly<Record<string, PrimaryChains>>>({});
  const apiKey = useApiKey(api, facts.isKeyNeeded);
  const main = useRef<HTMLElement>(null);
  const readiness = usePolled((signal) => api.readiness(signal), READINESS_EVERY_MS, []);
  const title = place.view === undefined ? 'Not found' : TITLES[place.view];

  useEffect(() => {
    const onHash = () => setPlace(placeOf(location.hash));
    addEventListener('hashchange', onHash);
    document.addEventListener('copy', copyExactFigures);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  useEffect(() => {
    document.title = `${title} – Warp signature aggregator`;
  }, [title]);
  useEffect(() => {
    if (!facts.hasDevnet) return;
    api.devnetNetwork().then(
      ({ subnets }) => setDevnet(subnets),
      () => undefined,
    );
  }, [readiness.value?.status]);

  const ofNetwork = readiness.value?.networks.find(({ name }) => name === network);
  useEffect(() => {
    // Known only once the network is open.
    if (chains[network] !== undefined) return;
    api.chains(network).then(
      (found) => setChains((before) => ({ ...before, [network]: found })),
      () => undefined,
    );
  }, [network, ofNetwork?.status]);

  const chainsOfNetwork = chains[network] ?? {};
  const chosen = facts.networks.find(({ name }) => name === network);
  const session: Session = {
    api,
    network,
    networkProblem: problemOf(readiness, network),
    networkId: ofNetwork?.networkId,
    sdkNetwork: [network, ...(chosen?.aliases ?? [])].find((name) => name === 'mainnet' || name === 'fuji'),
    facts,
    devnet,
    chains: chainsOfNetwork,
    nameOf: namesOf(devnet, chainsOfNetwork),
    adviceOf: (code) => adviceOn(facts.errorCodes, code),
    open(view, text) {
      if (text !== undefined) setTexts((before) => ({ ...before, [view]: { text } }));
      location.hash = `#/${view}`;
      main.current?.focus();
      scrollTo({ top: 0 });
    },
    announce: setSaid,
  };
  // Sign and Inspect keep their state while another view is shown.
  return [
    <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
      Skip to the content
    </a>,
    <header class="top">
      <a class="brand" href="#/sign" aria-label="Warp signatures">
        <span class="logo" aria-hidden />
        <span class="brand-name">Warp signatures</span>
      </a>
      <nav aria-label="Views" class="views">
        {LISTED_VIEWS.map((view) => (
          <a key={view} href={`#/${view}`} aria-current={place.view === view ? 'page' : undefined}>
            {TITLES[view]}
          </a>
        ))}
      </nav>
      <FindBox />
      <div class="top-tools">
        <Status readiness={readiness} />
        {facts.networks.length > 1 ? (
          <select aria-label="Network" value={network} onChange={(event) => setNetwork(event.currentTarget.value)}>
            {facts.networks.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        ) : (
          <Badge tone="plain">{network}</Badge>
        )}
        <KeyButton apiKey={apiKey} />
        <ThemeButton />
      </div>
    </header>,
    apiKey.isAsked && <KeyForm api={api} apiKey={apiKey} isNeeded={facts.isKeyNeeded} />,
    <main id="main" ref={main} tabIndex={-1}>
      <h1 class="visually-hidden">{title}</h1>
      {session.networkProblem !== undefined && place.view !== 'service' && (
        <p class="awaited banner" role="alert">
          {session.networkProblem}
        </p>
      )}
      <SessionContext.Provider value={session}>
        <div key="sign" hidden={place.view !== 'sign'}>
          <SignView key={network} place={place} begin={texts.sign} />
        </div>
        <div key="inspect" hidden={place.view !== 'inspect'}>
          <InspectView key={network} begin={texts.inspect} />
        </div>
        {place.view === 'messages' && <MessagesView key={`messages ${network}`} place={place} />}
        {place.view === 'subnets' && <SubnetsView key={`subnets ${network}`} place={place} />}
        {place.view === 'find' && <FindView key={place.query.get('text')} text={place.query.get('text') ?? ''} />}
        {place.view === 'activity' && <ActivityView key="activity" place={place} />}
        {place.view === 'service' && <ServiceView key="service" readiness={readiness} />}
      </SessionContext.Provider>
      {place.view === undefined && <UnknownAddress />}
    </main>,
    <footer class="foot">
      <span>{`Version ${facts.version}`}</span>
      <a href="docs">API</a>
      <a href="openapi.json">OpenAPI</a>
    </footer>,
    <div class="visually-hidden" role="status" aria-live="polite">
      {said}
    </div>,
  ];
}

function Status({ readiness }: { readiness: Polled<ReadinessBody> }): ComponentChild {
  const { value, error, failingSince } = readiness;
  const status = error === undefined ? (value?.status ?? 'unknown') : 'down';
  return (
    <a class="status" href="#/service">
      <Swatch colour={status} isRound />
      {error === undefined ? status : `cannot be reached since ${clockTime(failingSince)}`}
    </a>
  );
}

function UnknownAddress(): ComponentChild {
  return (
    <Card title="There is no such page">
      <p>
        {'No view of the console has the address '}
        <code>{location.hash}</code>
        {'. A link may be cut off. '}
        <a href="#/sign">Sign a message</a>
      </p>
    </Card>
  );
}

function adviceOn(codes: Readonly<Record<string, ErrorCodeEntry>>, code: string): ErrorCodeEntry | undefined {
  const entry = codes[code];
  return code !== 'unauthorized' || entry === undefined
    ? entry
    : { ...entry, action: KEY_ACTION, retry: 'after_change' };
}

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no element #app');
api.facts().then(
  (facts) => {
    root.replaceChildren();
    render(<App facts={facts} />, root);
  },
  (error: unknown) => {
    const [text] = root.getElementsByTagName('p');
    if (text !== undefined) text.textContent = `The console cannot start: ${failureOf(error).message}`;
  },
);
