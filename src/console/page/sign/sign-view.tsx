import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import type { Destination as DestinationView } from '../../../client/gen/api.ts';
import { failureOf } from '../console-api.ts';
import { Examples } from '../input/examples.tsx';
import { MessageInput, type ReadInput, useReadInput } from '../input/message-input.tsx';
import { consoleLinkOf, readPasted } from '../input/pasted-input.ts';
import { DecodedMessage } from '../inspect/decoded-message.tsx';
import { type Begin, MIN_ID_LENGTH, type Place, PRIMARY_NETWORK, type Session, useSession } from '../session.ts';
import { Card, Facts, SelectField, TextField } from '../ui/controls.tsx';
import { usePolled } from '../ui/polled.tsx';
import { useAnswer } from '../ui/use-answer.ts';
import { acceptorsOf, type MessageSource, signersOfDestination } from './acceptance.ts';
import type { Preflight } from './quorum.ts';
import { QuorumControls } from './quorum-controls.tsx';
import { changeChoice, chosenOptions, differencesOf, linkedSigning, NO_CHOICE, signLink } from './sign-choice.ts';
import { SignFailure } from './sign-failure.tsx';
import { SignProgress } from './sign-progress.tsx';
import {
  DEFAULT_OPTIONS,
  decideRequest,
  optionsOfBody,
  type SignOptions,
  teleporterDestination,
} from './sign-request.ts';
import { SignResult } from './sign-result.tsx';
import { useRunner } from './sign-run.ts';
import { MAX_WAIT_SECONDS, type SignRequest } from './snippets.ts';

const HINT = 'What you paste is read at once; no validator is asked to sign it yet.';

interface SignViewProps {
  readonly place: Place;
  /** Text from another view. */
  readonly begin: Begin | undefined;
}

export function SignView({ place, begin }: SignViewProps): ComponentChild {
  const [text, setText] = useState('');
  const [choice, setChoice] = useState(NO_CHOICE);
  const options = chosenOptions(choice);
  const setOptions = (next: SignOptions) => setChoice(changeChoice(choice, next));
  const read = useReadInput(text);
  const runner = useRunner();
  const reading = read.readings[0];
  const decision = decideRequest(read.pasted, reading, options);
  const request = 'request' in decision ? decision.request : undefined;
  const session = useSession();
  const source = useSource(reading, session);
  const destination = useDestination(options.destinationBlockchainId, session);
  const known = usePreflight({ reading, options, source, destination: destination?.value }, session);
  const { run } = runner;
  // Quorum and message may have been changed since the last request: what is shown is sent.
  const shownRequest = request ?? run?.request;
  const isOfOtherInput =
    run !== undefined && !read.isReading && (request === undefined || subjectOf(request) !== subjectOf(run.request));
  const canStart = request !== undefined && run?.state !== 'running' && !read.isReading;

  const paste = (pasted: string, linked?: SignOptions): void => {
    const ofLink = linkedSigning(consoleLinkOf(pasted)?.query ?? new URLSearchParams());
    if (ofLink !== undefined) return paste(ofLink.text, ofLink.options);
    const input = readPasted(pasted);
    setText(pasted);
    const { chain = '', logIndex = '' } = input.kind === 'id' ? input : {};
    // A whole request brings all its options.
    const isRequest = input.kind === 'id' || (input.kind === 'bytes' && input.source === 'request');
    const fields = isRequest ? input.fields : undefined;
    const brought = linked ?? (fields === undefined ? { idIs: DEFAULT_OPTIONS.idIs } : optionsOfBody(fields));
    setChoice(({ byHand }) => ({ byHand, ofText: { ...brought, chain, logIndex } }));
  };
  const start = (next: SignOptions) => {
    setOptions(next);
    const decided = decideRequest(read.pasted, reading, next);
    if ('request' in decided) runner.start(decided.request);
  };
  useEffect(() => {
    if (begin !== undefined) paste(begin.text);
  }, [begin]);
  const link = signLink(text, options);
  const shownLink = useRef<string>(undefined);
  useEffect(() => {
    if (place.view !== 'sign' || location.hash === shownLink.current) return;
    const linked = linkedSigning(place.query);
    if (linked !== undefined) paste(linked.text, linked.options);
  }, [place]);
  useEffect(() => {
    if (place.view !== 'sign' || (text === '' && place.query.has('message') && shownLink.current === undefined)) return;
    shownLink.current = link;
    history.replaceState(null, '', link);
  }, [link, place]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || !canStart) return;
    event.preventDefault();
    start(options);
  };
  return (
    <div class="view" onKeyDown={onKeyDown}>
      <div class="columns">
        <Card
          title="What is to be signed"
          aside={<Examples isEmpty={text === ''} onText={(example) => paste(example)} />}
        >
          <MessageInput
            text={text}
            onText={(typed) => paste(typed)}
            label="Message, transaction or log"
            hint={HINT}
            read={read}
          />
          {read.pasted.kind === 'id' && <IdRole options={options} onOptions={setOptions} />}
          {text === '' && <Pasteable />}
          <Reading
            read={read}
            why={
              'why' in decision && read.problem === undefined && read.pasted.kind === 'bytes' ? decision.why : undefined
            }
          />
        </Card>
        <Card title="Who must sign">
          <QuorumControls
            options={options}
            onOptions={setOptions}
            differences={differencesOf(choice)}
            onDefaults={() => setChoice(NO_CHOICE)}
            known={known}
            destination={destination}
            sources={source?.kind}
            namedDestination={teleporterDestination(reading)}
            hasJustification={request?.kind !== 'transaction'}
          />
          <button
            type="button"
            class="button primary big"
            disabled={!canStart && run?.state !== 'running'}
            aria-disabled={run?.state === 'running'}
            aria-keyshortcuts="Control+Enter Meta+Enter"
            title="Ctrl+Enter"
            onClick={() => canStart && start(options)}
          >
            {run?.state === 'running' ? 'Collecting signatures…' : 'Collect signatures'}
          </button>
          {request === undefined && !read.isReading && <p class="hint">Paste something that can be signed first.</p>}
        </Card>
      </div>
      {isOfOtherInput && <p class="problem">What follows is of an earlier request, not of the input above.</p>}
      <SignProgress runner={runner} />
      {run?.result !== undefined && (
        <SignResult key={run.startedMs} result={run.result} request={run.request} reading={reading} />
      )}
      {run?.failure !== undefined && shownRequest !== undefined && (
        <SignFailure
          failure={run.failure}
          isRecorded
          isOfPChain={reading !== undefined && 'sourceChain' in reading && reading.sourceChain === 'P'}
          onRetry={() => runner.start(shownRequest)}
          onWait={() => runner.start(waiting(shownRequest))}
          onQuorum={(quorum) => start({ ...options, quorum, buffer: 0 })}
          onLogIndex={(logIndex) => start({ ...options, logIndex: String(logIndex) })}
        />
      )}
    </div>
  );
}

/** What is signed: the message or justification of a body, or a transaction. */
function subjectOf(request: SignRequest): string | undefined {
  return request.kind === 'body' ? (request.body.message ?? request.body.justification) : request.txHash;
}

/** The same request, which waits for its transaction to be accepted. */
function waiting(request: SignRequest): SignRequest {
  return request.kind === 'body' ? request : { ...request, query: { ...request.query, wait: MAX_WAIT_SECONDS } };
}

const PASTEABLE = [
  ['Warp message', 'in hex, unsigned or signed'],
  ['SendWarpMessage log', 'as JSON of an RPC: a log, logs, or a receipt'],
  ['P-Chain transaction', 'its ID, of a conversion, registration or weight change'],
  ['EVM transaction', 'its hash, of the C-Chain or an L1'],
  ['Justification', 'of an L1 validator, or the ID of a converted subnet'],
  ['Whole request', 'the JSON or the curl line of a call of this API'],
] as const;

function Pasteable(): ComponentChild {
  return (
    <div class="decoded pasteable">
      <h3>What you can paste</h3>
      <Facts rows={PASTEABLE} />
    </div>
  );
}

function Reading({ read, why }: { read: ReadInput; why: string | undefined }): ComponentChild {
  const [reading, ...others] = read.readings;
  const more = read.pasted.kind === 'bytes' ? read.pasted.more : 0;
  if (reading === undefined) return null;
  return [
    more > 0 && (
      <p class="hint">{`The JSON has ${more} more ${more === 1 ? 'message' : 'messages'}; this is the first.`}</p>
    ),
    reading.as === 'signedMessage' && <p class="hint">This is signed already. Its unsigned part is signed again.</p>,
    why !== undefined && <p class="problem">{why}</p>,
    <DecodedMessage reading={reading} />,
    others.length > 0 && (
      <p class="hint">{`The same bytes could also be ${others.map(({ as }) => `a ${as}`).join(' or ')}.`}</p>
    ),
  ];
}

function IdRole(props: { options: SignOptions; onOptions: (options: SignOptions) => void }): ComponentChild {
  const { options, onOptions } = props;
  const l1Chain = useSession().devnet?.l1.blockchainID;
  const isTransaction = options.idIs === 'transaction';
  return [
    <SelectField
      label="These 32 bytes are"
      hint={
        isTransaction
          ? 'Signed is the message of the P-Chain about it, or the Warp message that it sent.'
          : "Signed is the P-Chain's message that the subnet has become an L1."
      }
      value={options.idIs}
      onValue={(idIs) => onOptions({ ...options, idIs })}
      options={[
        ['transaction', 'the ID or hash of a transaction'],
        ['subnet', 'the ID of a subnet, as a justification'],
      ]}
    />,
    isTransaction && (
      <TextField
        label="Chain of an EVM transaction"
        hint={`C, or a blockchain ID${l1Chain === undefined ? '' : `, such as ${l1Chain} of the devnet's L1`}. Without it, the P-Chain, the C-Chain and tracked L1s are asked.`}
        placeholder="any"
        value={options.chain}
        onValue={(chain) => onOptions({ ...options, chain, logIndex: '' })}
      />
    ),
  ];
}

const SIGNABLE_EVERY_MS = 15_000;
/** Codes for which a request fails whatever its message. */
const SUBNET_PROBLEMS: readonly string[] = ['subnet_not_allowed', 'unknown_subnet'];

interface PreflightOptions {
  readonly reading: DecodedReading | undefined;
  readonly options: SignOptions;
  readonly source: MessageSource | undefined;
  readonly destination: DestinationView | undefined;
}

/** Checks the message and the subnet that will sign it, before the request. */
function usePreflight({ reading, options, source, destination }: PreflightOptions, session: Session): Preflight {
  const { api, network } = session;
  const namedSubnetId = options.signingSubnetId.trim();
  // A destination may accept other signers than those of the source.
  const hasDestination = options.destinationBlockchainId.trim() !== '';
  const ofRules = hasDestination ? signersOfDestination(destination, source) : source?.subnetId;
  const subnetId = namedSubnetId || ofRules;
  const { value, error } = usePolled(
    async (signal) => {
      if (subnetId === undefined || subnetId.length < MIN_ID_LENGTH) return undefined;
      const view = await api.of(network).subnet(subnetId, { validators: 1, signal });
      return { totalWeight: BigInt(view.totalWeight), signableWeight: BigInt(view.signableWeight) };
    },
    SIGNABLE_EVERY_MS,
    [network, subnetId],
  );
  const failure = error === undefined ? undefined : failureOf(error);
  const isFailing = failure !== undefined && SUBNET_PROBLEMS.includes(failure.code);
  const isMessage = reading?.as === 'unsignedMessage' || reading?.as === 'signedMessage';
  return {
    messageNetworkId: isMessage ? reading.networkId : undefined,
    serviceNetworkId: session.networkId,
    acceptors: acceptorsOf({ source, namedSubnetId, hasDestination, destination }),
    isDestinationsQuorum: hasDestination && options.quorum === undefined && destination === undefined,
    destinationQuorum: destination?.quorumPercentage,
    signable: failure === undefined ? value : undefined,
    isNetworkDown: session.networkProblem !== undefined,
    subnetProblem: isFailing ? `${session.adviceOf(failure.code)?.meaning}.` : undefined,
  };
}

/** Asks how a chain verifies messages, once the ID can be one. */
function useDestination(typed: string, { api, network }: Session) {
  const blockchainId = typed.trim();
  const question = blockchainId.length < MIN_ID_LENGTH ? undefined : { network, blockchainId };
  return useAnswer(question, (asked, signal) => api.of(asked.network).destination(asked.blockchainId, { signal }));
}

/** The source of a message; undefined for what is no message, and while the subnet of its chain is being asked for. */
function useSource(reading: DecodedReading | undefined, session: Session): MessageSource | undefined {
  const chain = reading !== undefined && 'sourceBlockchainId' in reading ? reading.sourceBlockchainId : undefined;
  const known = chain === undefined ? undefined : knownSubnetOf(chain, session);
  const isOfNetwork = reading !== undefined && 'networkId' in reading && reading.networkId === session.networkId;
  const asked = useDestination(known === undefined && isOfNetwork ? (chain ?? '') : '', session);
  const subnetId = known ?? asked?.value?.subnetId;
  if (chain === PRIMARY_NETWORK) return { kind: 'p_chain', subnetId };
  if (subnetId === undefined) return undefined;
  return { kind: subnetId === PRIMARY_NETWORK ? 'c_and_x_chain' : 'other_chains', subnetId };
}

/** The subnet of a chain, without a request. The ID of the P-Chain is that of the primary network. */
function knownSubnetOf(chain: string, { devnet, chains }: Session): string | undefined {
  if (chain === PRIMARY_NETWORK || chain === chains.X || chain === chains.C) return PRIMARY_NETWORK;
  return chain === devnet?.l1.blockchainID ? devnet.l1.subnetID : undefined;
}
