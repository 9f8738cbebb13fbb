import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import type { Example } from '../../../devnet/examples.ts';
import { failureOf } from '../api-client.ts';
import { DecodedMessage } from '../inspect/decoded-message.tsx';
import { PRIMARY_NETWORK, type Session } from '../session.ts';
import { Card, Facts, Field, usePolled } from '../ui/controls.tsx';
import { MessageInput, type ReadInput, useReadInput } from './message-input.tsx';
import { QuorumControls } from './quorum-controls.tsx';
import { SignFailure } from './sign-failure.tsx';
import { SignProgress } from './sign-progress.tsx';
import { DEFAULT_OPTIONS, decideRequest, optionsOf, type SignOptions } from './sign-request.ts';
import { SignResult } from './sign-result.tsx';
import { useRunner } from './sign-run.ts';

const HINT = 'What you paste is read at once; nobody is asked to sign it yet.';

export function SignView({ session, begin }: { session: Session; begin: string | undefined }): ComponentChild {
  const [text, setText] = useState('');
  const [options, setOptions] = useState<SignOptions>(DEFAULT_OPTIONS);
  const read = useReadInput(text, session);
  const runner = useRunner(session);
  const reading = read.readings[0];
  const decision = decideRequest(read.pasted, reading, options);
  const request = 'request' in decision ? decision.request : undefined;
  const signable = useSignable(session, reading, options);
  const { run } = runner;

  useEffect(() => {
    if (begin !== undefined) setText(begin);
  }, [begin]);
  useEffect(() => {
    // What is pasted as a whole request brings its own choices.
    if (read.pasted.kind === 'bytes' && Object.keys(read.pasted.fields).length > 0)
      setOptions(optionsOf(read.pasted.fields, DEFAULT_OPTIONS));
  }, [text]);

  const start = (next: SignOptions) => {
    setOptions(next);
    const decided = decideRequest(read.pasted, reading, next);
    if ('request' in decided) runner.start(decided.request);
  };
  const isTransaction = request?.kind === 'transaction';
  return (
    <div class="view sign-view">
      <div class="columns">
        <Card
          title="What is to be signed"
          aside={<Examples session={session} isEmpty={text === ''} onText={setText} />}
        >
          <MessageInput text={text} onText={setText} label="Message, transaction or log" hint={HINT} read={read} />
          {read.pasted.kind === 'id' && <IdRole options={options} onOptions={setOptions} />}
          {text === '' && <Pasteable />}
          <Reading
            read={read}
            session={session}
            why={
              'why' in decision && read.problem === undefined && read.pasted.kind === 'bytes' ? decision.why : undefined
            }
          />
        </Card>
        <Card title="Who must sign">
          <QuorumControls options={options} onOptions={setOptions} signable={signable} isTransaction={isTransaction} />
          <button
            type="button"
            class="button primary big"
            disabled={request === undefined || run?.state === 'running' || read.isReading}
            onClick={() => start(options)}
          >
            {run?.state === 'running' ? 'Collecting signatures…' : 'Collect signatures'}
          </button>
          {request === undefined && !read.isReading && <p class="hint">Paste something that can be signed first.</p>}
        </Card>
      </div>
      <SignProgress runner={runner} />
      {run?.result !== undefined && (
        <SignResult key={run.startedMs} result={run.result} request={run.request} reading={reading} session={session} />
      )}
      {run?.failure !== undefined && (
        <SignFailure
          failure={run.failure}
          session={session}
          onRetry={() => runner.start(run.request)}
          onQuorum={run.request.kind === 'body' ? (quorum) => start({ ...options, quorum, buffer: 0 }) : undefined}
        />
      )}
    </div>
  );
}

const PASTEABLE = [
  ['Warp message', 'in hex, unsigned or signed'],
  ['SendWarpMessage log', 'as JSON of an RPC: a log, logs, or a receipt'],
  ['P-Chain transaction', 'its ID, of a conversion, registration or weight change'],
  ['Justification', 'of an L1 validator, or the ID of a converted subnet'],
  ['Whole request', 'the JSON or the curl line of a call of this API'],
] as const;

/** What the field takes, while it is empty. */
function Pasteable(): ComponentChild {
  return (
    <div class="pasteable">
      <h3>What you can paste</h3>
      <Facts rows={PASTEABLE} />
    </div>
  );
}

function Reading({
  read,
  session,
  why,
}: {
  read: ReadInput;
  session: Session;
  why: string | undefined;
}): ComponentChild {
  const [reading, ...others] = read.readings;
  const more = read.pasted.kind === 'bytes' ? read.pasted.more : 0;
  if (reading === undefined) return null;
  return [
    more > 0 && (
      <p class="hint">{`The JSON has ${more} more ${more === 1 ? 'message' : 'messages'}; this is the first.`}</p>
    ),
    reading.as === 'signedMessage' && <p class="hint">This is signed already. Its unsigned part is signed anew.</p>,
    why !== undefined && <p class="problem">{why}</p>,
    <DecodedMessage reading={reading} session={session} />,
    others.length > 0 && (
      <p class="hint">{`The same bytes could also be ${others.map(({ as }) => `a ${as}`).join(' or ')}.`}</p>
    ),
  ];
}

function IdRole({
  options,
  onOptions,
}: {
  options: SignOptions;
  onOptions: (options: SignOptions) => void;
}): ComponentChild {
  return (
    <Field
      label="These 32 bytes are"
      hint={
        options.idIs === 'transaction'
          ? 'What the P-Chain has to say about the transaction is signed.'
          : "The P-Chain's message that the subnet has become an L1 is signed."
      }
      children={(id, describedBy) => (
        <select
          id={id}
          aria-describedby={describedBy}
          value={options.idIs}
          onChange={(event: Event) =>
            onOptions({ ...options, idIs: (event.currentTarget as HTMLSelectElement).value as SignOptions['idIs'] })
          }
        >
          <option value="transaction">the ID of a P-Chain transaction</option>
          <option value="subnet">the ID of a subnet, as a justification</option>
        </select>
      )}
    />
  );
}

/** Requests to try: those of the devnet succeed. */
function Examples({
  session,
  isEmpty,
  onText,
}: {
  session: Session;
  isEmpty: boolean;
  onText: (text: string) => void;
}): ComponentChild {
  const [examples, setExamples] = useState<readonly Example[]>([]);
  const [problem, setProblem] = useState<string>();
  const { api, hasDevnet, example } = session;
  useEffect(() => {
    if (!hasDevnet) return;
    api.examples().then(setExamples, () => undefined);
  }, [hasDevnet]);
  /** A new message each time: one that was signed before would be answered from memory, and there would be nothing to see. */
  const takeNew = async () => {
    try {
      onText(await api.newDevnetMessage());
      setProblem(undefined);
      if (examples.length === 0) setExamples(await api.examples());
    } catch (error) {
      setProblem(failureOf(error).message);
    }
  };
  if (!hasDevnet) {
    if (example === undefined) return null;
    return (
      <button type="button" class="button small" onClick={() => onText(JSON.stringify(example, null, 1))}>
        Try an example that is refused
      </button>
    );
  }
  return (
    <div class="card-aside">
      {problem !== undefined && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
      <button type="button" class={`button ${isEmpty ? 'primary' : 'small'}`} onClick={() => void takeNew()}>
        Try an example
      </button>
      {examples.length > 1 && (
        <select
          aria-label="Another example"
          class="examples"
          value=""
          onChange={(event: Event) => {
            const select = event.currentTarget as HTMLSelectElement;
            const chosen = examples[Number(select.value)];
            if (select.value !== '' && chosen !== undefined) onText(textOf(chosen));
            select.value = '';
          }}
        >
          <option value="">More…</option>
          {examples.map(({ name }, index) => (
            <option key={name} value={index}>
              {name}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

/** As somebody would paste it. */
function textOf({ body, path }: Example): string {
  if (body === undefined) return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
  const { message, quorumPercentage, ...rest } = body;
  const isPlain = message !== undefined && Object.keys(rest).length === 0 && (quorumPercentage ?? 67) === 67;
  return isPlain ? message : JSON.stringify(body, null, 1);
}

const SIGNABLE_EVERY_MS = 15_000;

/** How much weight of the subnet that will sign could do so now, where it is clear which one that is. */
function useSignable(session: Session, reading: DecodedReading | undefined, { signingSubnetId }: SignOptions) {
  const { api, network } = session;
  const subnetId = signingSubnetId.trim() !== '' ? signingSubnetId.trim() : subnetOf(reading, session);
  const { value } = usePolled(
    async (signal) => {
      if (subnetId === undefined || subnetId.length < MIN_ID_LENGTH) return undefined;
      const view = await api.subnetFigures(network, subnetId, signal);
      return { totalWeight: BigInt(view.totalWeight), signableWeight: BigInt(view.signableWeight) };
    },
    SIGNABLE_EVERY_MS,
    [network, subnetId],
  );
  return value;
}

/** In cb58; while it is typed in, it is shorter. */
const MIN_ID_LENGTH = 34;

function subnetOf(reading: DecodedReading | undefined, { chainSubnets }: Session): string | undefined {
  if (reading === undefined || !('sourceBlockchainId' in reading)) return undefined;
  return reading.sourceChain === undefined ? chainSubnets.get(reading.sourceBlockchainId) : PRIMARY_NETWORK;
}
